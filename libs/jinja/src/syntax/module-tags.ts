import { parseExpression } from './expressions.ts';
import type { TokenCursor } from './token-cursor.ts';
import type { ImportedName, Statement } from './tree.ts';

// Tags that join templates (Jinja: jinja2/parser.py), and Salt's imports of data. Each function
// reads its tag from the name to the end, and throws a JinjaError (Syntax).

/** `{% include … %}` */
export function parseInclude(at: TokenCursor): Statement {
  const { line } = at.expect('symbol');
  const template = parseExpression(at);
  const ignoreMissing = at.skipNames('ignore', 'missing');
  const withContext = parseContext(at) ?? true;
  at.expect('block-end');
  return { kind: 'IncludeTemplate', line, template, ignoreMissing, withContext };
}

/** `{% import … as … %}` */
export function parseImport(at: TokenCursor): Statement & { kind: 'Import' } {
  const { line } = at.expect('symbol');
  const template = parseExpression(at);
  at.expectName('as');
  const name = at.expect('symbol').value;
  const withContext = parseContext(at) ?? false;
  at.expect('block-end');
  return { kind: 'Import', line, template, name, withContext };
}

/** `{% import_yaml … as … %}`, of JSON and of text (Salt: salt/utils/jinja.py parse_import). */
export function parseImportData(at: TokenCursor): Statement {
  const format = at.peek()?.value.slice('import_'.length) ?? '';
  const from = parseImport(at);
  return { kind: 'ImportData', line: from.line, format, from };
}

/** `{% from … import … %}` */
export function parseFromImport(at: TokenCursor): Statement {
  const { line } = at.expect('symbol');
  const template = parseExpression(at);
  at.expectName('import');
  const names: ImportedName[] = [];
  let withContext: boolean | undefined;
  do {
    withContext = parseContext(at);
    if (withContext !== undefined) break;
    names.push(parseImported(at));
    withContext = parseContext(at);
  } while (withContext === undefined && at.skip('comma'));
  at.expect('block-end');
  return { kind: 'FromImport', line, template, names, withContext: withContext ?? false };
}

function parseImported(at: TokenCursor): ImportedName {
  const { value: from, line } = at.expect('symbol');
  if (from.startsWith('_')) {
    at.fail('names starting with an underline can not be imported', line);
  }
  return { from, to: at.skip('symbol', 'as') ? at.expect('symbol').value : from };
}

function parseContext(at: TokenCursor): boolean | undefined {
  if (at.skipNames('with', 'context')) return true;
  return at.skipNames('without', 'context') ? false : undefined;
}

/** `{% extends … %}` */
export function parseExtends(at: TokenCursor): Statement {
  const { line } = at.expect('symbol');
  const template = parseExpression(at);
  at.expect('block-end');
  return { kind: 'Extends', line, template };
}

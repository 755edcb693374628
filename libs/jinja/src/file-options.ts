import { JinjaError } from './errors.ts';
import type { Whitespace } from './syntax/lexer.ts';

/** The options in the first line of a template, and the template without that line. */
export interface FileOptions {
  readonly source: string;
  readonly whitespace: Partial<Whitespace>;
  /** Salt's warnings about an invalid line, which counts as text. */
  readonly warnings: readonly string[];
}

const HEAD = '#jinja2:';
/** A line with its end, as Python's splitlines cuts it. */
const LINE = /[^\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]*(?:\r\n|[^]|$)/y;

/** Supported options, by Jinja's names. */
const SERVED: ReadonlyMap<string, keyof Whitespace> = new Map([
  ['trim_blocks', 'trimBlocks'],
  ['lstrip_blocks', 'lstripBlocks'],
  ['keep_trailing_newline', 'keepTrailingNewline'],
]);

/** Unsupported options, with Jinja's defaults. */
const OTHERS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['block_start_string', '{%'],
  ['block_end_string', '%}'],
  ['variable_start_string', '{{'],
  ['variable_end_string', '}}'],
  ['comment_start_string', '{#'],
  ['comment_end_string', '#}'],
  ['line_statement_prefix', null],
  ['line_comment_prefix', null],
  ['newline_sequence', '\n'],
]);

/**
 * Takes `#jinja2: {"trim_blocks": true}` from the first line of a template, or from the one below
 * `#!jinja|yaml` (Salt: salt/utils/templates.py parse_jinja_file_opts).
 * @throws JinjaError for an unsupported option of Jinja, and for a list or a map as a value
 */
export function fileOptions(template: string): FileOptions {
  const first = lineAt(template, 0);
  const below = first.startsWith('#!') && !first.startsWith('#!/');
  const start = below ? first.length : 0;
  const line = below ? lineAt(template, start) : first;
  const plain: FileOptions = { source: template, whitespace: {}, warnings: [] };
  if (!line.startsWith(HEAD)) return plain;
  const payload = line.slice(HEAD.length);
  if (payload.trim() === '') return plain;
  const shown = line.replace(/[\r\n]+$/, '');
  const given = objectIn(payload);
  if (typeof given === 'string') return { ...plain, warnings: [`${given}: ${shown}`] };
  const source = template.slice(0, start) + template.slice(start + line.length);
  return { source, ...optionsOf(given) };
}

function lineAt(text: string, start: number): string {
  LINE.lastIndex = start;
  return LINE.exec(text)?.[0] ?? '';
}

/** The options of the line, or Salt's warning about an invalid one. */
function objectIn(payload: string): Readonly<Record<string, unknown>> | string {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return "Ignoring malformed '#jinja2:' header in template";
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  return "Ignoring '#jinja2:' header that is not a JSON object";
}

function optionsOf(given: Readonly<Record<string, unknown>>): Omit<FileOptions, 'source'> {
  const whitespace: Partial<Record<keyof Whitespace, boolean>> = {};
  const warnings: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    const name = key.toLowerCase();
    const served = SERVED.get(name);
    const isScalar = typeof value !== 'object' || value === null;
    if (served !== undefined && isScalar) whitespace[served] = Boolean(value);
    else if (served === undefined && !OTHERS.has(name)) {
      warnings.push(`Jinja2 environment ${name} is not recognized`);
    } else if (served !== undefined || OTHERS.get(name) !== value) {
      throw new JinjaError('Runtime', `the option ${name} of #jinja2: is not served`);
    }
  }
  return { whitespace, warnings };
}

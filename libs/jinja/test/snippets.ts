import { readdirSync, readFileSync } from 'node:fs';
import type { SaltValue } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import { JinjaError, renderTemplate, saltErrorHead } from '../src/index.ts';

const FIXTURES = new URL('../../../test/fixtures/jinja/', import.meta.url);

/** Salt's result of a snippet. */
export interface SnippetResult {
  readonly ok?: string;
  readonly error?: string;
  readonly line?: number;
}

interface Context {
  readonly files: Readonly<Record<string, string>>;
  readonly context: Readonly<Record<string, unknown>>;
}

/** The text of a file of the fixtures. */
export function fixture(name: string): string {
  return readFileSync(new URL(name, FIXTURES), 'utf8');
}

/** The snippets by their names. */
export function snippets(): Map<string, string> {
  const parts = `\n${fixture('snippets.txt')}`.split('\n### ').slice(1);
  return new Map(
    parts.map((part, at) => {
      const [name = '', ...lines] = part.split('\n');
      return [name, lines.join('\n') + (at === parts.length - 1 ? '' : '\n')];
    }),
  );
}

/** A rule: its sentence, a template for it, and Salt's result. */
export interface Rule {
  readonly rule: string;
  readonly template: string;
  readonly result: SnippetResult;
}

/** Rows of a file of rules; an expression that is its own name has no template beside it. */
type Row = readonly [string, string | SnippetResult, (string | SnippetResult)?];

/** The rules by their subjects: the files below `rules/`. */
export function rules(): Map<string, readonly Rule[]> {
  const files = readdirSync(new URL('rules/', FIXTURES)).sort();
  return new Map(
    files.map((file) => {
      const rows = JSON.parse(fixture(`rules/${file}`)) as Row[];
      return [file.replace('.json', ''), rows.map(ruleOf)];
    }),
  );
}

function ruleOf([rule, second, third]: Row): Rule {
  const [template, found] =
    third === undefined ? [`{{ ${rule} }}`, second] : [second as string, third];
  return { rule, template, result: typeof found === 'string' ? { ok: found } : found };
}

/** The files that snippets import, and the variables that they see. */
export function snippetContext(): Context {
  return (given ??= JSON.parse(fixture('context.json')) as Context);
}

let given: Context | undefined;

/** Brine's result of a snippet. */
export function renderSnippet(template: string): SnippetResult {
  const { files } = snippetContext();
  const { context } = parsed();
  const variables = new Map([...context, ['saltenv', 'base'], ['opts', OPTS]]);
  try {
    const ok = renderTemplate(template, {
      variables,
      outside: { now: () => 0, random: () => 0.5, load: (name) => files[name] },
    });
    return { ok };
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
    const head = saltErrorHead(error).split('\n')[0] ?? '';
    if (error.line === undefined || error.template !== undefined) return { error: head };
    return { error: head, line: error.line };
  }
}

const OPTS: SaltValue = new Map<SaltValue, SaltValue>([
  ['id', 'web1.example'],
  ['saltenv', null],
]);

let contextText: string | undefined;

function parsed(): { context: Map<string, unknown> } {
  // A fresh copy each time: templates may change what they get.
  const all = readJson((contextText ??= fixture('context.json'))) as Map<string, unknown>;
  return { context: all.get('context') as Map<string, unknown> };
}

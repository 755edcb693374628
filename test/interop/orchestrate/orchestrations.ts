import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { newestOf, type SaltConfig } from '@brine/testing';

/** The orchestrations, and what a stock master made of them. */
export const FIXTURES = new URL('../../fixtures/orchestrate/', import.meta.url).pathname;

/** Where the outcomes of a stock master lie. */
export const RESULTS_FILE = join(FIXTURES, 'results.json');

/** The release of the minions. */
export const VERSION = newestOf('3008');

/** The minions that the orchestrations name. */
export const MINIONS = ['one', 'two'] as const;

/** SLS files that are no orchestrations. */
const NO_CASES: ReadonlySet<string> = new Set(['top', 'other-top']);

/** One call of a runner. */
export interface Orchestration {
  readonly name: string;
  readonly args: readonly string[];
}

/** What it ended with: the exit code, and what it printed, with times and ids made equal. */
export interface Outcome {
  readonly exit: number;
  readonly shown: unknown;
}

/** All orchestrations: each SLS file, and the calls of `cases.json`. */
export function orchestrations(): Orchestration[] {
  const special = JSON.parse(readFileSync(join(FIXTURES, 'cases.json'), 'utf8')) as Record<
    string,
    { readonly args: readonly string[] }
  >;
  const files = readdirSync(join(FIXTURES, 'salt'))
    .filter((file) => file.endsWith('.sls'))
    .map((file) => file.replace('.sls', ''))
    .filter((name) => !NO_CASES.has(name));
  return [...new Set([...files, ...Object.keys(special)])].sort().map((name) => ({
    name,
    args: special[name]?.args ?? ['state.orchestrate', name],
  }));
}

/**
 * Whether an orchestration applies states to minions. A minion refuses to apply states while it
 * applies others, so these run one after the other.
 */
export function appliesStates({ args }: Orchestration): boolean {
  return (args[1] ?? '').split(',').some((name) => {
    const path = join(FIXTURES, 'salt', `${name}.sls`);
    return existsSync(path) && /salt\.state|state-good/.test(readFileSync(path, 'utf8'));
  });
}

/** Options of a master that serves them. */
export function masterConfig(): SaltConfig {
  return {
    file_roots: { base: [join(FIXTURES, 'salt')] },
    pillar_roots: { base: [join(FIXTURES, 'pillar')] },
    timeout: 10,
    gather_job_timeout: 3,
  };
}

/** What was recorded. */
export function recorded(): Record<string, Outcome> {
  return JSON.parse(readFileSync(RESULTS_FILE, 'utf8')) as Record<string, Outcome>;
}

/** The outcome of a call, from what it printed with `--out=json`. */
export function outcomeOf(exit: number, stdout: string, master = `${hostname()}_master`): Outcome {
  return { exit, shown: documents(stdout.replaceAll(master, '<MASTER>')).map(normal) };
}

/** The documents of an output: one ends where a line is a closing bracket alone. */
function documents(stdout: string): unknown[] {
  const found: unknown[] = [];
  let lines: string[] = [];
  for (const line of stdout.trimEnd().split('\n')) {
    // Before a document, and between two, a line may be a text for the terminal.
    if (lines.length === 0 && !/^[[{"]/.test(line)) {
      found.push(line);
      continue;
    }
    lines.push(line);
    const text = lines.join('\n');
    try {
      if (/^[}\]"]|[^,{[]$/.test(line)) {
        found.push(JSON.parse(text));
        lines = [];
      }
    } catch {
      // The document goes on.
    }
  }
  return lines.join('').trim() === '' ? found : [...found, lines.join('\n')];
}

/** Keys of what differs from run to run. */
const VARYING: Readonly<Record<string, string>> = {
  start_time: '<TIME>',
  duration: '<MS>',
  __jid__: '<JID>',
  jid: '<JID>',
  _stamp: '<STAMP>',
};

function normal(value: unknown): unknown {
  if (typeof value === 'string') return normalText(value);
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [normalText(key), VARYING[key] ?? normal(item)]),
  );
}

/** Texts in which Python lists a set, or the order in which minions returned. */
const MINION_LISTS =
  /(ran on|Updating|No changes made to|failed on minions:) ([\w-]+(?:, [\w-]+)*)/g;
const FAILED_LISTS = /(One or more requisite failed:) (.*)/g;

function normalText(text: string): string {
  return (
    text
      .replaceAll(/\b\d{20}\b/g, '<JID>')
      .replaceAll(/seen in [\d.e-]+ seconds/g, 'seen in <S> seconds')
      .replaceAll(/Traceback \(most recent call last\):\n(?:[ ^~]+.*\n)+/g, 'Traceback:\n')
      .replaceAll(/Traceback \(most recent call last\):\n/g, 'Traceback:\n')
      // The documentation of a function is in Brine's own words.
      .replace(/(\nPassed invalid arguments: .*\n\nUsage:\n)[^]*$/, '$1')
      // Stock Salt shows the frames of an error, Brine its text.
      .replace(/^(Exception occurred in runner \S+: )Traceback:\n[\w.]+: ([^]*?)\n?$/, '$1$2')
      .replaceAll(MINION_LISTS, (_all, head: string, list: string) => `${head} ${sorted(list)}`)
      .replaceAll(FAILED_LISTS, (_all, head: string, list: string) => `${head} ${sorted(list)}`)
  );
}

function sorted(list: string): string {
  return list.split(', ').sort().join(', ');
}

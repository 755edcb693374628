import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newestOf, type SaltConfig } from '@brine/testing';

/** Files that react, and what a stock master made of them. */
export const FIXTURES = new URL('../../fixtures/reactor/', import.meta.url).pathname;

/** Where the outcomes of a stock master lie. */
export const RESULTS_FILE = join(FIXTURES, 'results.json');

/** The release of the minions. */
export const VERSION = newestOf('3008');

/** The minions that the reactions name. */
export const MINIONS = ['one', 'two'] as const;

/** What events carry where a case has no data of its own. */
const DATA = {
  id: 'one',
  pkg: 'zsh',
  n: 5,
  flag: true,
  files: ['a', 'b'],
  message: 'a text with "quotes"',
} as const;

/** Why a stock master can not be asked for these. */
export const NOT_AT_STOCK: Readonly<Record<string, string>> = {
  'unknown-kind': 'it ends the reactor process of a stock master',
  'caller-new': 'on a stock master it runs a minion that signs in to a master named salt',
  'caller-old': 'on a stock master it runs a minion that signs in to a master named salt',
};

/** Cases that need Salt's interpreter. */
export const IN_PYTHON: ReadonlySet<string> = new Set(['py-renderer']);

/** One event, and the entry of the list that reacts to it. */
export interface ReactorCase {
  readonly name: string;
  readonly tag: string;
  readonly glob: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly reactor: string | readonly string[];
}

/** A job that a reaction published. */
export interface PublishedJob {
  readonly fun: string;
  readonly arg: unknown;
  readonly tgt: unknown;
  readonly tgt_type: string;
  readonly minions: readonly string[];
}

/** A runner or wheel that a reaction called. */
export interface CalledFunction {
  readonly fun: string;
  readonly fun_args: unknown;
}

/** What came of one event. */
export interface Reactions {
  readonly jobs: readonly PublishedJob[];
  readonly runs: readonly CalledFunction[];
}

/** All cases: each file, and those of `cases.json`. */
export function reactorCases(): ReactorCase[] {
  const special = JSON.parse(readFileSync(join(FIXTURES, 'cases.json'), 'utf8')) as Record<
    string,
    Partial<ReactorCase>
  >;
  const files = readdirSync(join(FIXTURES, 'sls'))
    .filter((file) => file.endsWith('.sls'))
    .map((file) => file.replace('.sls', ''));
  return [...new Set([...files, ...Object.keys(special)])].sort().map((name) => {
    const own = `case/${name}`;
    const { tag = own, glob = own, data = DATA, reactor } = special[name] ?? {};
    return { name, tag, glob, data, reactor: placed(reactor ?? [`{sls}/${name}.sls`]) };
  });
}

function placed(reactor: string | readonly string[]): string | readonly string[] {
  const place = (path: string): string => path.replace('{sls}', join(FIXTURES, 'sls'));
  return typeof reactor === 'string' ? place(reactor) : reactor.map(place);
}

/** Options of a master that reacts to all of them. */
export function masterConfig(): SaltConfig {
  return {
    file_roots: { base: [join(FIXTURES, 'served')], other: [join(FIXTURES, 'served-other')] },
    nodegroups: { pair: 'L@one,two' },
    reactor: reactorCases().map(({ glob, reactor }) => ({ [glob]: reactor })),
    timeout: 10,
    gather_job_timeout: 3,
  };
}

/** What was recorded. */
export function recorded(): Record<string, Reactions> {
  return JSON.parse(readFileSync(RESULTS_FILE, 'utf8')) as Record<string, Reactions>;
}

/** A line of `state.event` about a job or run that begins. */
const NEW = /^(salt\/(?:job|run|wheel)\/\d{20}\/new)\t(\{.*\})$/;

/** What the lines of `state.event` say of reactions. */
export function reactionsIn(lines: string): Reactions {
  const jobs: PublishedJob[] = [];
  const runs: CalledFunction[] = [];
  for (const line of lines.split('\n')) {
    const [, tag = '', json = ''] = NEW.exec(line) ?? [];
    if (tag === '') continue;
    const event = JSON.parse(json) as PublishedJob & CalledFunction & { readonly user: string };
    const { fun, arg, tgt, tgt_type, minions, fun_args, user } = event;
    if (tag.startsWith('salt/job/')) {
      if (fun !== 'saltutil.find_job') {
        jobs.push({ fun, arg, tgt, tgt_type, minions: [...minions].sort() });
      }
    } else if (user === 'Reactor') runs.push({ fun, fun_args });
  }
  return { jobs, runs: sortedRuns(runs) };
}

/** Runners and wheels run beside each other. */
export function sortedRuns(runs: readonly CalledFunction[]): CalledFunction[] {
  const text = (run: CalledFunction): string => JSON.stringify(run);
  return [...runs].sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

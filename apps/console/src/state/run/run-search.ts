import { NO_COMMAND, type RunCommand, type RunOf, TARGET_KINDS } from './run-command.ts';

/** The command in the query of an address; what is usual is left out. */
export interface RunSearch {
  /** `runner` or `wheel`; without it minions run it. */
  readonly client?: string;
  readonly tgt?: string;
  readonly tgtType?: string;
  readonly fun?: string;
  readonly arg?: string | readonly string[];
  readonly size?: string;
  readonly canary?: string;
  readonly halt?: string;
  readonly wait?: string;
  readonly failhard?: string;
  readonly durable?: string;
  readonly deadline?: string;
  /** The run with `test=True` of this command, and the minions that it was sent to. */
  readonly dry?: string;
  readonly dryCount?: string;
  readonly dryDigest?: string;
}

const TEXTS = [
  'tgt',
  'fun',
  'size',
  'canary',
  'halt',
  'wait',
  'durable',
  'deadline',
] as const satisfies readonly (keyof RunCommand & keyof RunSearch)[];
const DRY = ['dry', 'dryCount', 'dryDigest'] as const;
const ARGUMENTS_MAX = 1_000;

/** Takes what the page has; the rest is dropped. */
export function runSearch(search: Readonly<Record<string, unknown>>): RunSearch {
  const found: Record<string, string | readonly string[]> = {};
  for (const name of [...TEXTS, ...DRY, 'client', 'tgtType', 'failhard']) {
    const value = search[name];
    // Of a target that comes several times: a list.
    if (name === 'tgt' && Array.isArray(value)) found[name] = value.map(String).join(',');
    else if (typeof value === 'string' && value !== '') found[name] = value;
  }
  const arg = [search['arg'] ?? []].flat().filter((one) => typeof one === 'string');
  if (arg.length > 0) found['arg'] = arg.slice(0, ARGUMENTS_MAX);
  return found;
}

const OFS: readonly RunOf[] = ['module', 'runner', 'wheel'];

/** The command of an address. */
export function commandIn(search: RunSearch): RunCommand {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, search[name] ?? '']));
  return {
    ...NO_COMMAND,
    ...texts,
    of: OFS.find((one) => one === search.client) ?? 'module',
    tgtType: TARGET_KINDS.find(({ type }) => type === search.tgtType)?.type ?? 'glob',
    arg: [search.arg ?? []].flat(),
    failhard: search.failhard === 'true',
  };
}

/** The address of a command. */
export function searchOf(command: RunCommand): RunSearch {
  const { of, tgtType, arg, failhard } = command;
  const texts = Object.fromEntries(
    TEXTS.flatMap((name) => (command[name] === '' ? [] : [[name, command[name]]])),
  );
  return {
    ...texts,
    ...(of === 'module' ? {} : { client: of }),
    ...(tgtType === 'glob' ? {} : { tgtType }),
    ...(arg.length === 0 ? {} : { arg }),
    ...(failhard ? { failhard: 'true' } : {}),
  };
}

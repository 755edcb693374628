import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { isJudged } from '@brine/master/functions';
import { matchGlob } from '@brine/target';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import type { ReactionFailure, ReactorAdmin } from '../reactor-admin.ts';

/** Arguments that Salt's functions have and do not use. */
const UNUSED = [
  ['saltenv', 'base'],
  ['test', null],
] as const;

/** Default number of failures that one call shows. */
const SHOWN = 20;

/** The reactor. @throws Error with Salt's text if none is configured */
function reactorOf(context: RunnerContext): ReactorAdmin {
  const { reactor } = masterOf(context);
  if (!reactor.isRunning) throw new Error('Reactor system is not running.');
  return reactor;
}

const list: RunnerFunction = {
  name: 'reactor.list',
  parameters: UNUSED,
  doc: 'Shows which files react to which tags, with what reactor.add and reactor.delete changed.',
  async run(_, context) {
    return { value: [...(await reactorOf(context).list())] };
  },
};

const add: RunnerFunction = {
  name: 'reactor.add',
  parameters: [['event'], ['reactors'], ...UNUSED],
  doc:
    'Adds an entry to the list of the reactor, in the whole cluster and for good. event: a glob ' +
    'of tags. reactors: a path, a glob of paths or salt://, or a list of these. A caller with ' +
    'limited rights may name files in file_roots, and beside those that the option reactor names.',
  async run({ named }, context) {
    const event = pyStr(named.get('event') ?? '');
    const given = named.get('reactors') ?? [];
    const reactors = (Array.isArray(given) ? given : [given]).map(pyStr);
    await judgeFiles(masterOf(context), reactors);
    return { value: await reactorOf(context).add(event, reactors) };
  },
};

const SERVED = 'salt://';

/**
 * A caller with limited rights may only add files in an operator's directories, because a minion
 * may have pushed others. @throws Error that names the first one
 */
async function judgeFiles(master: RunnerMaster, reactors: readonly string[]): Promise<void> {
  if (!isJudged(master, master.call)) return;
  const dirs = await reactorDirs(master);
  const other = reactors.find((file) => {
    const dir = resolve(plainPart(file));
    return !file.startsWith(SERVED) && !dirs.some((one) => isWithin(dir, one));
  });
  if (other === undefined) return;
  throw new Error(`${other} lies neither in file_roots nor in a directory that reactor names`);
}

/** The directories of file_roots, and of the configured reaction files. */
async function reactorDirs(master: RunnerMaster): Promise<readonly string[]> {
  const roots = await master.hostFiles.roots('file_roots');
  const named = textsWithin(master.option('reactor') ?? null).filter((text) =>
    text.startsWith('/'),
  );
  return [...[...roots.values()].flat(), ...named.map((file) => dirname(`${plainPart(file)}.`))];
}

/** A path up to its first glob character. */
function plainPart(path: string): string {
  return path.replace(/\/?[^/]*[*?[{].*$/s, '/');
}

function isWithin(path: string, dir: string): boolean {
  const way = relative(resolve(dir), path);
  return way === '' || !(way.startsWith('..') || isAbsolute(way));
}

function textsWithin(value: SaltValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (isMap(value)) return [...value.values()].flatMap(textsWithin);
  return Array.isArray(value) ? value.flatMap(textsWithin) : [];
}

const remove: RunnerFunction = {
  name: 'reactor.delete',
  parameters: [['event'], ...UNUSED],
  doc:
    'Takes an entry out of the list of the reactor, in the whole cluster. event: its tag as ' +
    'reactor.list shows it. One of the configuration stays out until reactor.add brings it back.',
  async run({ named }, context) {
    return { value: await reactorOf(context).remove(pyStr(named.get('event') ?? '')) };
  },
};

const isLeader: RunnerFunction = {
  name: 'reactor.is_leader',
  parameters: [],
  doc: 'Shows whether the cluster reacts to events.',
  async run(_, context) {
    return { value: await reactorOf(context).isLeader() };
  },
};

const setLeader: RunnerFunction = {
  name: 'reactor.set_leader',
  parameters: [['value', true]],
  doc: 'Sets whether the cluster reacts to events. value: False stops all reactions (True).',
  async run({ named }, context) {
    const reactor = reactorOf(context);
    await reactor.setLeader(isTruthy(named.get('value') ?? null));
    return { value: await reactor.isLeader() };
  },
};

const failed: RunnerFunction = {
  name: 'reactor.failed',
  parameters: [
    ['limit', SHOWN],
    ['tag', '*'],
  ],
  doc:
    'Shows reactions that failed, the newest first: files that do not render, calls that can not ' +
    'be made, work that ended its workers. limit: how many (20). tag: a glob of tags. counted: ' +
    'how many were put on record since the cluster began; the newest 1,000 are kept. waiting: ' +
    'reactions in the queue.',
  async run(given, context) {
    const reactor = reactorOf(context);
    const [{ list: all, count }, waiting] = [await reactor.failures(), await reactor.waiting()];
    return { value: mapOf({ waiting, counted: count, failed: shown(all, given) }) };
  },
};

function shown(all: readonly ReactionFailure[], { named }: BoundArguments): SaltValue[] {
  const limit = named.get('limit');
  const tag = pyStr(named.get('tag') ?? '*');
  const most = typeof limit === 'number' && limit > 0 ? limit : SHOWN;
  return all
    .filter((one) => matchGlob(tag, one.tag))
    .slice(0, most)
    .map(lineOf);
}

function lineOf({ atMs, tag, kind, what, why, id }: ReactionFailure): SaltMap {
  return mapOf({ time: new Date(atMs).toISOString(), tag, kind, what, why, id });
}

/** The functions of the reactor runner; `failed` is Brine's own. */
export const REACTOR_RUNNER: readonly RunnerFunction[] = [
  ...[list, add, remove, isLeader, setLeader, failed],
];

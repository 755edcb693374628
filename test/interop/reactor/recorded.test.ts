import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonJson } from '@brine/client';
import {
  type PillarOptions,
  type PillarPorts,
  renderStateFile,
  type StateFileContext,
} from '@brine/pillar';
import { type CallToMake, react, ReactorMap, type ReactPorts } from '@brine/reactor';
import { RUNNERS, signatureOf } from '@brine/runners';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { expect, it } from 'vitest';
import { MemoryPlans } from '../../../libs/reactor/test/memory-plans.ts';
import { DIFFERENCES } from './differences.ts';
import {
  FIXTURES,
  IN_PYTHON,
  MINIONS,
  NOT_AT_STOCK,
  type Reactions,
  type ReactorCase,
  reactorCases,
  recorded,
  sortedRuns,
} from './reactor-cases.ts';

/*
 * The whole way from an event to its calls, less the master: the files are rendered and compiled
 * here, and the calls are those that a stock master made.
 */

const STOCK = recorded();
/** Globs of files, and files of another environment, are found by the worker. */
const NOT_HERE: ReadonlySet<string> = new Set(['glob-of-files', 'served-environment']);
/** A master answers these by the minions that it has. */
const NO_MINIONS: ReadonlySet<string> = new Set(['local-no-minion']);

const CASES = reactorCases().filter(
  ({ name }) =>
    ![NOT_AT_STOCK, DIFFERENCES].some((table) => name in table) &&
    ![IN_PYTHON, NOT_HERE].some((names) => names.has(name)),
);

const OPTIONS = {
  renderer: 'jinja|yaml',
  rendererBlacklist: [],
  rendererWhitelist: [],
  opts: mapOf({}),
  trimBlocks: false,
  lstripBlocks: false,
  allowUndefined: false,
} as unknown as PillarOptions;

function contextOf(): StateFileContext {
  const ports = {
    files: {
      environments: ['base'],
      list: () => [],
      read: (_env: string, path: string) => text(path),
    },
    outside: { now: () => 0, random: () => 0 },
    functions: () => new Map(),
    log: () => undefined,
  } as unknown as PillarPorts;
  const minion = {
    id: 'm_master',
    grains: mapOf({}),
    saltenv: 'base',
    pillarenv: null,
    override: mapOf({}),
    ext: null,
  };
  return { ports, options: OPTIONS, minion, pillar: mapOf({}) };
}

/** A file of the host, or of the file server. */
function text(path: string): string | undefined {
  try {
    return readFileSync(path.startsWith('/') ? path : join(FIXTURES, 'served', path), 'utf8');
  } catch {
    return undefined;
  }
}

function portsOf({ glob, reactor }: ReactorCase, calls: CallToMake[]): ReactPorts {
  const value = typeof reactor === 'string' ? reactor : [...reactor];
  const map = new ReactorMap([mapOf({ [glob]: value })]);
  let jid = 0;
  return {
    filesFor: (tag) => map.filesFor(tag),
    find: async (item) => {
      const path = item.replace(/^salt:\/\//, '');
      return text(path) === undefined ? [] : [{ path }];
    },
    render: async ({ path }, names) =>
      renderStateFile(contextOf(), { saltenv: 'base', path, sls: '', defaults: names }),
    signatureOf: async (kind, fun) => signatureOf(kind, fun),
    plans: new MemoryPlans(),
    newJid: async () => `202611261200000000${(jid += 1) + 10}`,
    call: async (made) => void calls.push(made),
    failed: async () => undefined,
    note: () => undefined,
    pause: async () => true,
  };
}

/** The calls in the form of the events that a master fires of them. */
function shown(calls: readonly CallToMake[]): Reactions {
  const plain = (value: SaltValue): unknown => JSON.parse(pythonJson(value, false));
  const jobs = calls.flatMap(({ call }) =>
    call.kind !== 'local' ? [] : [{ fun: call.fun, arg: plain([...call.arg]) }],
  );
  const runs = calls.flatMap(({ call }) => {
    if (call.kind === 'local') return [];
    if (call.kind === 'runner' && !RUNNERS.has(call.fun)) return [];
    const args = [...call.args, ...(call.kwargs.size > 0 ? [call.kwargs] : [])];
    return [{ fun: `${call.kind}.${call.fun}`, fun_args: plain(args) }];
  });
  return { jobs, runs: sortedRuns(runs) } as unknown as Reactions;
}

it('there are many of them', () => {
  expect(CASES.length).toBeGreaterThan(50);
  expect(Object.keys(STOCK).length).toBeGreaterThan(50);
  expect(MINIONS).toHaveLength(2);
});

it.each(CASES)('$name', async (one) => {
  const calls: CallToMake[] = [];
  const data = fromJson(one.data) as SaltMap;
  const event = { id: 'event/EVENTS/1.0', tag: one.tag, data, deliveries: 1 };
  if (data.get('user') !== 'Reactor') await react(event, portsOf(one, calls));
  const made = shown(calls);
  const { jobs, runs } = STOCK[one.name] ?? { jobs: [], runs: [] };
  expect(made.runs).toEqual(runs);
  if (NO_MINIONS.has(one.name)) return expect(jobs).toEqual([]);
  expect(made.jobs).toEqual(jobs.map(({ fun, arg }) => ({ fun, arg })));
});

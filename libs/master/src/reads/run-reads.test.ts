import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RunUnderWay } from '../ports/ports.ts';
import { readAs, readersOf } from './reads.fixture.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);

/** What users of this master may do; `root` may do all. */
const ACL: Readonly<Record<string, SaltValue[]>> = {
  nothing: [],
  tests: ['test.*'],
  runner: ['@runner'],
  wheel: ['@wheel'],
  manage: [mapOf({ '@runner': ['manage.up', 'batch.status'] })],
  sls: [mapOf({ '@runner': [mapOf({ 'state.orchestrate': mapOf({ args: ['orch.web'] }) })] })],
};

const jid = (n: number): string => `2026112612000000000${n}`;

function underWay(n: number, fun: string, more: object = {}): RunUnderWay {
  const call = { kind: 'runner', fun, jid: jid(n), user: 'bob', principal: 'bob' } as const;
  const given = { args: [], kwargs: mapOf({}) };
  return { call: { ...call, ...given, ...more }, isBegun: true, data: mapOf({ total: n }) };
}

const OPEN: readonly RunUnderWay[] = [
  underWay(9, 'state.orchestrate', { args: ['orch.web'] }),
  underWay(8, 'manage.up', { principal: 'nothing', user: 'nothing' }),
  underWay(7, 'test.ping', { kind: 'batch' }),
];

/** A row of the job cache: what a master returned of a run. */
function row(n: number, fun: string, more: Record<string, SaltValue> = {}): SaltMap {
  return mapOf({
    jid: jid(n),
    fun: [fun],
    user: 'bob',
    principal: 'host1_master',
    origin: 'return',
    ledger: mapOf({ failed: 0, late: 0, returned: 1 }),
    ...more,
  });
}

let made: MemoryMaster;
let asked: SaltMap[];
let rows: SaltMap[];
let next: string | null;

function answerQuery(query: string, args: SaltMap): SaltValue {
  if (query === 'page_jobs') {
    asked.push(args);
    return mapOf({ jobs: rows, next });
  }
  const found = rows.find((one) => textOf(one, 'jid') === args.get('jid'));
  if (found === undefined) return null;
  if (query === 'page_job') {
    return new Map([...found, ['load', mapOf({ fun_args: ['orch.web', mapOf({ a: 1 })] })]]);
  }
  const event = mapOf({ return: 'secret', success: true, retcode: 0 });
  return mapOf({ load: mapOf({ return: event }), receivedAt: 5 });
}

beforeEach(() => {
  asked = [];
  next = null;
  rows = [row(6, 'runner.manage.up'), row(5, 'wheel.key.list_all'), row(4, 'runner.jobs.active')];
  const { access, ...login } = readersOf(ACL);
  made = memoryMaster({
    masterKey,
    ...login,
    answerQuery,
    underWay: OPEN,
    rules: {
      access,
    },
  });
});

async function read(user: string, name: string, args: Record<string, SaltValue> = {}) {
  const value = await readAs(made, user, name, args);
  return (isMap(value) && mapIn(value, 'value')) || undefined;
}

async function listed(user: string, args: Record<string, SaltValue> = {}) {
  const page = (await read(user, 'runs', args)) ?? mapOf({});
  return {
    next: page.get('next'),
    runs: (listOf(page, 'runs') ?? [])
      .filter(isMap)
      .map((one) => `${(textOf(one, 'jid') ?? '').slice(-1)} ${textOf(one, 'state') ?? ''}`),
  };
}

describe('a list of runs', () => {
  test.each([
    ['root', ['9 running', '8 running', '6 ended', '5 ended', '4 ended']],
    ['runner', ['9 running', '8 running', '6 ended', '4 ended']],
    ['wheel', ['5 ended']],
    ['manage', ['8 running', '6 ended']],
    ['sls', ['9 running']],
    ['nothing', ['8 running']],
    ['tests', []],
  ])('has for %s its own, and what it may call itself', async (user, seen) => {
    expect((await listed(user)).runs).toEqual(seen);
  });

  test('has no job of a minion, whatever it calls itself', async () => {
    const pub = masterKey.publicKey.pem;
    made.setKey('evil_master', { state: 'accepted', pub, denied: [] });
    rows = [
      row(6, 'runner.manage.up', { principal: 'evil_master' }),
      row(5, 'runner.manage.up', { principal: 'web1' }),
      row(4, 'runner.manage.up', { origin: 'publication' }),
      row(3, 'test.ping'),
    ];
    expect((await listed('root')).runs).toEqual(['9 running', '8 running']);
    expect(await read('root', 'run', { jid: jid(6) })).toBeUndefined();
  });

  test('comes by pages, each run once', async () => {
    expect(await listed('root', { limit: 2 })).toEqual({
      runs: ['9 running', '8 running'],
      next: jid(8),
    });
    const before = jid(8);
    expect(await listed('root', { limit: 2, before })).toMatchObject({
      runs: ['6 ended', '5 ended'],
    });
    expect(asked[1]?.get('before')).toBe(before);
    // Ended meanwhile: it is in both.
    rows = [row(9, 'runner.state.orchestrate')];
    next = jid(9);
    expect(await listed('root')).toEqual({ runs: ['9 ended'], next: jid(9) });
  });

  test('is narrowed by client, function, user and time, on record and under way', async () => {
    await listed('root', { client: 'wheel', fun: 'key.*' });
    expect(asked[0]?.get('fun')).toEqual(['wheel.key.*']);
    rows = [];
    expect((await listed('root', { client: 'wheel' })).runs).toEqual([]);
    expect((await listed('root', { fun: 'manage.*' })).runs).toEqual(['8 running']);
    expect((await listed('root', { user: 'nothing' })).runs).toEqual(['8 running']);
    const from = Date.UTC(2026, 10, 26, 12) + 1;
    expect((await listed('root', { from })).runs).toEqual([]);
    expect((await listed('root', { to: from })).runs).toHaveLength(2);
  });
});

describe('one run', () => {
  test.each([
    ['root', true, true],
    ['runner', true, true],
    ['sls', true, false],
    ['manage', false, true],
    ['wheel', false, false],
    ['tests', false, false],
  ])('is for %s there or not, as its list', async (user, seesOpen, seesEnded) => {
    expect((await read(user, 'run', { jid: jid(9) })) !== undefined).toBe(seesOpen);
    expect((await read(user, 'run', { jid: jid(6) })) !== undefined).toBe(seesEnded);
  });

  test('that has ended has its event, and is judged by its arguments', async () => {
    rows = [row(6, 'runner.state.orchestrate')];
    const found = (await read('sls', 'run', { jid: jid(6) })) ?? mapOf({});
    expect(found.get('args')).toEqual(['orch.web']);
    expect(found.get('kwargs')).toEqual(mapOf({ a: 1 }));
    expect(mapIn(found, 'event')?.get('return')).toBe('secret');
    expect(found.get('ended')).toBe(5);
  });

  test('shows no arguments that are secrets', async () => {
    rows = [row(6, 'runner.sdb.set')];
    expect((await read('root', 'run', { jid: jid(6) }))?.get('args')).toEqual([]);
  });
});

test.each([
  ['root', ['7']],
  ['runner', ['7']],
  ['manage', []],
  ['nothing', []],
])('%s sees the batches that it began, or may list', async (user, seen) => {
  const found = listOf((await read(user, 'batches')) ?? mapOf({}), 'batches') ?? [];
  expect(found.filter(isMap).map((one) => textOf(one, 'jid')?.slice(-1))).toEqual(seen);
});

describe('a list of batches', () => {
  const ended = (n: number, principal = 'bob') => underWay(n, 'x', { kind: 'batch', principal });

  beforeEach(() => {
    made.ports.functions.endedBatches = async ({ before, limit }) => {
      const all = [8, 6, 4, 2].map((n) => ended(n, n === 4 ? 'nothing' : 'bob'));
      const wanted = all.filter(({ call }) => before === undefined || call.jid < before);
      const batches = wanted.slice(0, limit);
      const next = batches.length < wanted.length ? batches.at(-1)?.call.jid : undefined;
      return { batches, next };
    };
  });

  async function pages(user: string, args: Record<string, SaltValue>): Promise<string[][]> {
    const found: string[][] = [];
    let before: SaltValue = null;
    do {
      const given = { ...args, ...(before === null ? {} : { before }) };
      const page: SaltMap = (await read(user, 'batches', given)) ?? mapOf({});
      const rows = (listOf(page, 'batches') ?? []).filter(isMap);
      found.push(
        rows.map((one) => `${textOf(one, 'jid')?.slice(-1)} ${one.get('ended') === true}`),
      );
      before = page.get('next') ?? null;
    } while (before !== null);
    return found;
  }

  test.each([1, 2, 3, 50])('has each once, newest first, in pages of %i', async (limit) => {
    const all = ['8 true', '7 false', '6 true', '4 true', '2 true'];
    const found = await pages('root', { limit });
    expect(found.flat()).toEqual(all);
    expect(found.every((page) => page.length <= limit)).toBe(true);
  });

  test('has those of one state', async () => {
    expect(await pages('root', { state: 'open' })).toEqual([['7 false']]);
    expect((await pages('root', { state: 'ended' })).flat()).toHaveLength(4);
  });

  test.each([
    ['runner', ['8 true', '7 false', '6 true', '4 true', '2 true']],
    // The right to batch.status alone gives no list of those that run.
    ['manage', ['8 true', '6 true', '4 true', '2 true']],
    ['nothing', ['4 true']],
    ['tests', []],
    ['wheel', []],
  ])('shows %s what it began, and what its rights give', async (user, seen) => {
    expect((await pages(user, { limit: 2 })).flat()).toEqual(seen);
  });
});

describe('one batch', () => {
  beforeEach(() => {
    const { functions } = made.ports;
    const plan = mapOf({ active: ['web1'] });
    functions.batch = async (asked) =>
      asked === jid(7)
        ? { principal: 'bob', command: '', state: mapOf({ total: 3, plan }) }
        : undefined;
  });

  test.each([
    ['root', true],
    ['runner', true],
    ['manage', false],
  ])('shows its minions to who sees its job: %s', async (user, isSeen) => {
    const found = await read(user, 'batch', { jid: jid(7) });
    expect(found?.get('total')).toBe(3);
    expect(found?.get('plan') !== null).toBe(isSeen);
  });

  test.each(['nothing', 'tests', 'wheel', 'sls'])('is not there for %s', async (user) => {
    expect(await read(user, 'batch', { jid: jid(7) })).toBeUndefined();
  });

  test('is unknown by another job id, and by none', async () => {
    for (const other of [jid(9), '1', 'a.>']) {
      expect(await read('root', 'batch', { jid: other })).toBeUndefined();
      if (other !== jid(9)) expect(await read('root', 'run', { jid: other })).toBeUndefined();
    }
  });
});

import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import type { MasterRules } from '../ports/ports.ts';
import { publish } from './publish.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const NOW = 1_795_000_000_000;

function master(rules: Partial<MasterRules> = {}, open: SaltValue | Error = null): MemoryMaster {
  const made = memoryMaster({
    masterKey,
    userKeys: { root: 'KEY' },
    nowMs: NOW,
    rules,
    answerQuery: () => {
      if (open instanceof Error) throw open;
      return open;
    },
  });
  made.setKey('m', { state: 'accepted', pub: 'key', denied: [] });
  return made;
}

function load(
  wish: SaltValue | undefined,
  more: Readonly<Record<string, SaltValue>> = {},
): SaltMap {
  const metadata = wish === undefined ? undefined : mapOf({ brine_durable: wish });
  return mapOf({
    cmd: 'publish',
    tgt: '*',
    tgt_type: 'glob',
    fun: 'state.apply',
    arg: [],
    ret: '',
    jid: '',
    user: 'root',
    key: 'KEY',
    kwargs: mapOf({ metadata }),
    ...more,
  });
}

let requests = 0;
const send = async (made: MemoryMaster, asked: SaltMap): Promise<SaltMap> => {
  const id = `r${(requests += 1)}`;
  return (await publish(made.ports, { id, body: Buffer.alloc(0), gatewayHost: 'h' }, asked)).value;
};
const errorOf = (value: SaltMap): string => {
  const error = mapIn(value, 'error');
  return (error && textOf(error, 'message')) ?? '';
};

test('a durable job stays open for its time, and then as long as any other', async () => {
  const made = master();
  await send(made, load('2h'));
  await send(made, load(90));
  await send(made, load(undefined));
  await send(made, load(0));
  const times = made.jobs.map(({ durable, notAfter, deadlineAt }) => [
    durable,
    (notAfter - NOW) / 1000,
    (deadlineAt - NOW) / 1000,
  ]);
  expect(times).toEqual([
    [true, 7200, 10_800],
    [true, 90, 3690],
    [undefined, 30, 3600],
    [undefined, 30, 3600],
  ]);
  const [job] = made.jobs;
  const publication = unpackMap(job?.publication ?? Buffer.of(0x80));
  expect(mapIn(publication, 'metadata')).toEqual(mapOf({ brine_durable: '2h' }));
});

test('a wish that can not be met is refused, never passed over', async () => {
  const made = master();
  for (const wish of ['soon', -1, '31d', true, mapOf({})]) {
    expect(errorOf(await send(made, load(wish)))).toMatch(/^durable takes seconds/);
  }
  const large = await send(made, load('1h', { arg: ['x'.repeat(1_100_000)] }));
  expect(errorOf(large)).toBe('a durable job takes at most 1048576 bytes of arguments');
  expect(made.jobs).toEqual([]);
  const full = master({}, mapOf({ open: 200, waiting: 7 }));
  expect(errorOf(await send(full, load('1h')))).toBe('200 durable jobs are open; see jobs.active');
  expect(full.jobs).toEqual([]);
  const many = master({}, mapOf({ open: 3, waiting: 1_000_000 }));
  expect(errorOf(await send(many, load('1h')))).toMatch(/^durable jobs wait for 1000000 minions/);
});

test('a job cache that is away holds no job up', async () => {
  const made = master({}, new Error('away'));
  await send(made, load('1h'));
  expect(made.jobs).toMatchObject([{ durable: true }]);
  expect(made.counts.get('durable_unchecked')).toBe(1);
});

test('functions may be durable by configuration; of several all have to be, the least time counts', async () => {
  const durableFunctions = [
    ['state.high*', 60],
    ['state.*', 7200],
    ['pkg.*', 600],
  ] as const;
  const made = master({ durableFunctions });
  const jobs = async (fun: SaltValue, wish?: SaltValue): Promise<number> => {
    await send(made, load(wish, { fun, arg: Array.isArray(fun) ? fun.map(() => []) : [] }));
    return ((made.jobs.at(-1)?.notAfter ?? 0) - NOW) / 1000;
  };
  expect(await jobs('state.highstate')).toBe(60);
  expect(await jobs('state.apply')).toBe(7200);
  expect(await jobs('test.ping')).toBe(30);
  expect(await jobs(['state.apply', 'pkg.install'])).toBe(600);
  expect(await jobs(['state.apply', 'test.ping'])).toBe(30);
  expect(await jobs('state.apply', '5m')).toBe(300);
  expect(await jobs('state.apply', 0)).toBe(30);
  expect(await jobs('saltutil.find_job', '5m')).toBe(30);
  // A job that only the configuration makes durable goes out as any other where no more fit.
  const full = master({ durableFunctions }, mapOf({ open: 200, waiting: 7 }));
  await send(full, load(undefined));
  expect(full.jobs[0]?.durable).toBeUndefined();
});

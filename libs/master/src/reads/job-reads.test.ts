import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { runClearCommand } from '../clear/commands.ts';
import { MasterUnavailableError } from '../errors.ts';
import { readAs, readersOf } from './reads.fixture.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const JID = '20261126120000123456';

/** What users of this master may do; `root` may do all. */
const ACL: Readonly<Record<string, SaltValue[]>> = {
  anne: ['test.*'],
  webs: [mapOf({ 'web*': ['test.*'] })],
  mails: [mapOf({ 'mail*': ['test.*'] })],
  debian: [mapOf({ 'G@kernel:Linux': ['test.*'] })],
  lists: [mapOf({ '@runner': ['jobs.list_job'] })],
  word: ['@jobs'],
  runs: [mapOf({ 'web*': [mapOf({ 'cmd.run': mapOf({ args: ['id'] }) })] })],
};

let made: MemoryMaster;
let asked: [query: string, args: SaltMap][];
/** The job of `root` that the store has. */
let load: SaltMap;
let fail: Error | undefined;

const STATES = mapOf({ web1: 'returned', web2: 'never', db1: 'failed' });
const LEDGER = mapOf({ targeted: 3, returned: 1, never: 1, failed: 1 });

function answerQuery(query: string, args: SaltMap): SaltValue {
  asked.push([query, args]);
  if (fail !== undefined) throw fail;
  if (args.get('jid') !== undefined && args.get('jid') !== JID) return null;
  switch (query) {
    case 'page_job':
      return mapOf({
        jid: JID,
        principal: 'root',
        user: 'root',
        tgt: ['*'],
        fun: ['test.echo'],
        load,
        ledger: LEDGER,
      });
    case 'job':
      return mapOf({ states: STATES });
    case 'at':
      return mapOf({ states: mapOf({ web1: 'returned', web2: 'waiting', db1: 'waiting' }) });
    case 'page_jobs':
      return mapOf({ jobs: [], next: null });
    case 'silent':
      return null;
    default:
      return mapOf({ from: query });
  }
}

beforeEach(() => {
  asked = [];
  fail = undefined;
  load = mapOf({ fun: 'test.echo', arg: ['x'] });
  const { access, ...login } = readersOf(ACL);
  made = memoryMaster({
    masterKey,
    ...login,
    answerQuery,
    rules: {
      access,
    },
  });
  const pub = masterKey.publicKey.pem;
  for (const id of ['web1', 'web2', 'db1']) {
    made.setKey(id, { state: 'accepted', pub, denied: [] });
    made.grains.set(id, mapOf({ id, kernel: 'Linux' }));
  }
});

async function ask(user: string, read: string, args: Record<string, SaltValue> = { jid: JID }) {
  return readAs(made, user, read, args);
}

const READS = [
  'job',
  'job_minions',
  'job_return',
  'job_groups',
  'job_states',
  'job_timeline',
  'job_why',
  'job_again',
] as const;
const errorOf = (answer: SaltMap) => textOf(mapIn(answer, 'error') ?? mapOf({}), 'name');
const idsAsked = (query: string): SaltValue => {
  const [, args] = asked.find(([name]) => name === query) ?? [];
  return (args && listOf(args, 'ids')) ?? null;
};

describe('a job of another user', () => {
  test.each(['root', 'lists'])('is seen whole by %s', async (user) => {
    expect(mapIn(await ask(user, 'job'), 'value')?.get('user')).toBe('root');
    for (const read of ['job_minions', 'job_groups'] as const) {
      const value = mapIn(await ask(user, read), 'value');
      expect(value?.get('from')).toBe(read.replace('job', 'page'));
    }
    expect(asked.some(([, args]) => args.has('ids'))).toBe(false);
  });

  test.each(READS)('is not there for a user that may not run its function: %s', async (read) => {
    expect(await ask('runs', read, { jid: JID, id: 'web1' })).toEqual(mapOf({ value: null }));
    expect(asked.map(([query]) => query)).toEqual(['page_job']);
  });

  test.each(READS)('is not there for a user that sees none of its minions: %s', async (read) => {
    for (const id of ['web1', 'mail1']) {
      expect(await ask('mails', read, { jid: JID, id })).toEqual(mapOf({ value: null }));
    }
    expect(asked.filter(([query]) => !['page_job', 'job'].includes(query))).toEqual([]);
  });

  test('is seen where its reader could have run it, without its target and its user', async () => {
    const value = mapIn(await ask('webs', 'job'), 'value') ?? mapOf({});
    expect(value.get('isPart')).toBe(true);
    expect([...value.keys()]).not.toContain('tgt');
    for (const name of ['user', 'principal', 'tgtType']) expect(value.has(name)).toBe(false);
    const counts = { targeted: 2, returned: 1, never: 1, failed: 0, late: 0, waiting: 0 };
    expect(Object.fromEntries(mapIn(value, 'ledger') ?? [])).toEqual({ ...counts, unexpected: 0 });
    await ask('webs', 'job_minions');
    expect(idsAsked('page_minions')).toEqual(['web1', 'web2']);
    await ask('webs', 'job_groups');
    expect(idsAsked('page_groups')).toEqual(['web1', 'web2']);
    await ask('webs', 'job_why');
    expect(idsAsked('silent')).toEqual(['web2']);
  });

  test('is no way to the silence of a minion that its reader may not see', async () => {
    const of = async (ids: string[]) =>
      mapIn(await ask('webs', 'job_why', { jid: JID, ids }), 'value');
    expect(mapIn((await of(['db1'])) ?? mapOf({}), 'minions')).toEqual(mapOf({}));
    expect(asked.filter(([query]) => query === 'silent')).toEqual([]);
    await of(['db1', 'web2']);
    expect(idsAsked('silent')).toEqual(['web2']);
  });

  test('shows the return of a minion only where its reader could have run it', async () => {
    const of = async (id: string) =>
      (await ask('webs', 'job_return', { jid: JID, id })).get('value');
    expect(await of('web1')).toEqual(mapOf({ from: 'page_return' }));
    expect(await of('db1')).toBeNull();
    expect(asked.filter(([query]) => query === 'page_return')).toHaveLength(1);
  });

  test('is run once more on those of its minions that its reader may see', async () => {
    load = mapOf({ fun: 'test.echo', arg: ['x'], kwargs: mapOf({ metadata: mapOf({ a: 1 }) }) });
    const of = async (user: string) =>
      mapIn(await ask(user, 'job_again', { jid: JID, states: ['never', 'failed'] }), 'value');
    const whole = (await of('root')) ?? mapOf({});
    expect(whole.get('minions')).toEqual(['web2', 'db1']);
    expect(whole.get('metadata')).toEqual(mapOf({ a: 1 }));
    expect((await of('webs'))?.get('minions')).toEqual(['web2']);
  });

  test('has its counts of another time, of what its reader may see', async () => {
    const at = { jid: JID, at: 5 };
    const counts = async (user: string) =>
      mapIn(mapIn(await ask(user, 'job', at), 'value') ?? mapOf({}), 'ledger');
    expect((await counts('root'))?.get('waiting')).toBe(2);
    expect((await counts('root'))?.get('targeted')).toBe(3);
    expect((await counts('webs'))?.get('waiting')).toBe(1);
  });

  test('is judged by its arguments', async () => {
    load = mapOf({ fun: 'cmd.run', arg: ['id'] });
    expect(mapIn(await ask('runs', 'job'), 'value')?.get('isPart')).toBe(true);
    load = mapOf({ fun: 'cmd.run', arg: ['cat /etc/shadow'] });
    expect((await ask('runs', 'job')).get('value')).toBeNull();
  });

  test('with several functions is seen by who may run each of them', async () => {
    load = mapOf({ fun: ['test.ping', 'cmd.run'], arg: [[], ['id']] });
    expect((await ask('webs', 'job')).get('value')).toBeNull();
    load = mapOf({ fun: ['test.ping', 'test.echo'], arg: [[], ['x']] });
    expect(mapIn(await ask('webs', 'job'), 'value')?.get('isPart')).toBe(true);
  });

  test('without any function is seen by nobody with limited rights', async () => {
    load = mapOf({ fun: [], arg: [] });
    expect((await ask('anne', 'job')).get('value')).toBeNull();
  });
});

test('a fleet is matched once for a read, however many minions the job has', async () => {
  const { minionData } = made.ports;
  let looks = 0;
  const grains = (id: string) => {
    looks += 1;
    return made.grains.get(id);
  };
  Object.assign(made.ports, { minionData: { ...minionData, grains } });
  const value = mapIn(await ask('debian', 'job'), 'value');
  expect(mapIn(value ?? mapOf({}), 'ledger')?.get('targeted')).toBe(3);
  expect(looks).toBe(3);
});

describe('a list of jobs', () => {
  test('is of all for who may list them', async () => {
    await ask('lists', 'jobs', { limit: 5, user: 'bob' });
    expect(asked).toEqual([['page_jobs', mapOf({ limit: 5, user: 'bob' })]]);
  });

  test('is of its own for a limited user, whatever it asks for', async () => {
    await ask('anne', 'jobs', { limit: 5 });
    expect(asked[0]?.[1].get('principal')).toBe('anne');
    const others = await ask('anne', 'jobs', { limit: 5, principal: 'root' });
    expect(others).toEqual(mapOf({ value: mapOf({ jobs: [], next: null }) }));
    expect(asked).toHaveLength(1);
  });
});

test('numbers of jobs are of its own for a limited user, whatever it asks for', async () => {
  for (const user of ['root', 'lists', 'anne']) {
    await ask(user, 'job_numbers', { principal: 'root' });
  }
  expect(asked).toEqual([
    ['page_numbers', mapOf({})],
    ['page_numbers', mapOf({})],
    ['page_numbers', mapOf({ principal: 'anne' })],
  ]);
});

test('earlier runs of all minions are for who sees all jobs', async () => {
  const args = { funs: ['state.apply'] };
  for (const user of ['root', 'lists', 'word']) {
    expect((await ask(user, 'past_runs', args)).get('value')).toEqual(
      mapOf({ from: 'page_past_runs' }),
    );
  }
  expect(asked).toHaveLength(3);
  for (const user of ['anne', 'webs', 'debian', 'runs']) {
    expect((await ask(user, 'past_runs', args)).get('value')).toBeNull();
  }
  expect(asked).toHaveLength(3);
});

test('a read needs a proof of its caller, and a known name', async () => {
  made.ports.userKeys.all();
  const sent = mapOf({ cmd: 'brine_read', read: 'jobs', args: mapOf({}), user: 'root', key: 'no' });
  const { value } = await runClearCommand(made.ports, request, sent);
  expect(isMap(value) && errorOf(value)).toBe('UserAuthenticationError');
  expect(errorOf(await ask('root', 'quarantine_drop'))).toBe('SaltInvocationError');
  expect(asked).toEqual([]);
});

test('a read is refused in words while the store is away', async () => {
  fail = new MasterUnavailableError('no answer');
  expect(errorOf(await ask('root', 'jobs', {}))).toBe('SaltReqTimeoutError');
});

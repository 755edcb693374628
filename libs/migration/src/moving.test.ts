import type { StockBankRecord, StockReturn, StockSession, StockToken } from '@brine/cachedir';
import type { TokenRecord } from '@brine/master';
import { mapOf, SaltFloat, type SaltMap } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import type { BrineHistory, BrineIntake } from './edge/brine-side.ts';
import type { JobFile, JobHead, StockHistory, StockIntake } from './edge/stock-side.ts';
import { fromStock } from './from-stock.ts';
import type { ReturnLoad } from './return-loads.ts';
import { Tally } from './tally.ts';
import { toStock } from './to-stock.ts';

const NOW = Date.UTC(2026, 10, 26);
const JID = '20261125120000000001';
const KEY = 'k'.repeat(75) + '=';

async function* each<T>(all: readonly T[]): AsyncGenerator<T> {
  for (const one of all) yield await Promise.resolve(one);
}

function grains(id: string, timeMs = NOW): StockBankRecord {
  return { bank: 'grains', id, data: mapOf({ os: 'Debian' }), timeMs };
}

function job(jid: string, ids: readonly string[]): JobFile {
  return {
    jid,
    load: mapOf({ fun: 'test.ping', arg: [], tgt: '*', tgt_type: 'glob', user: 'root' }),
    minions: ids,
    returns: returnsOf(
      ids.map((id) => ({
        id,
        value: mapOf({ return: true, retcode: 0, success: true }),
        timeMs: NOW,
      })),
    ),
  };
}

/** They may be read again here: a test brings the same job twice. */
function returnsOf(all: readonly StockReturn[]): AsyncIterable<StockReturn> {
  return { [Symbol.asyncIterator]: () => each(all) };
}

function token(name: string, expire: number): StockToken {
  const data = mapOf({ name, eauth: 'pam', start: new SaltFloat(1.5), token: 'abc' });
  return { token: 'abc', data, expire };
}

/** A stock master in memory. */
function stockOf(has: {
  readonly banks?: readonly StockBankRecord[];
  readonly tokens?: readonly StockToken[];
  readonly sessions?: readonly StockSession[];
  readonly jobs?: readonly JobFile[];
}): StockHistory {
  return {
    banks: () => each(has.banks ?? []),
    tokens: () => each(has.tokens ?? []),
    sessions: () => each(has.sessions ?? []),
    jobs: () => each(has.jobs ?? []),
  };
}

/** What Brine took, in memory. */
class Taken implements BrineIntake {
  readonly banks = new Map<string, StockBankRecord>();
  readonly tokens = new Map<string, TokenRecord>();
  readonly sessions = new Map<string, StockSession>();
  readonly jobIds = new Set<string>();
  readonly returns = new Map<string, SaltMap>();
  readonly parts: number[] = [];

  bank(record: StockBankRecord): Promise<boolean> {
    const key = `${record.bank} ${record.id}`;
    const known = this.banks.get(key);
    if (record.id === 'huge') throw new RangeError('grains of huge are too large');
    if (known !== undefined && known.timeMs >= record.timeMs) return Promise.resolve(false);
    this.banks.set(key, record);
    return Promise.resolve(true);
  }

  token(name: string, record: TokenRecord): Promise<boolean> {
    const isNew = !this.tokens.has(name);
    if (isNew) this.tokens.set(name, record);
    return Promise.resolve(isNew);
  }

  session(record: StockSession): Promise<boolean> {
    const isNew = !this.sessions.has(record.id);
    if (isNew) this.sessions.set(record.id, record);
    return Promise.resolve(isNew);
  }

  jobs(
    jobs: readonly JobHead[],
    returns: readonly ReturnLoad[],
  ): Promise<{ jobs: number; returns: number }> {
    const [before, had] = [this.jobIds.size, this.returns.size];
    for (const { jid } of jobs) this.jobIds.add(jid);
    for (const { jid, id, load } of returns) this.returns.set(`${jid} ${id}`, load);
    this.parts.push(jobs.length + returns.length);
    return Promise.resolve({ jobs: this.jobIds.size - before, returns: this.returns.size - had });
  }
}

const accepted = new Set(['a', 'b', 'huge']);

async function bring(stock: StockHistory, brine: BrineIntake, sinceMs?: number): Promise<Tally> {
  const tally = new Tally();
  await fromStock({ stock, brine, accepted, nowMs: NOW, sinceMs, tally });
  return tally;
}

describe('from a stock master', () => {
  test('the second run moves nothing', async () => {
    const stock = stockOf({
      banks: [grains('a'), grains('b')],
      tokens: [token('fred', NOW / 1_000 + 60)],
      sessions: [{ id: 'a', key: KEY, timeMs: NOW }],
      jobs: [job(JID, ['a', 'b'])],
    });
    const brine = new Taken();
    const first = await bring(stock, brine);
    expect(first.count('grains')).toEqual({ moved: 2, known: 0, left: 0 });
    expect(first.count('jobs').moved).toBe(1);
    expect(first.count('returns').moved).toBe(2);
    const second = await bring(stock, brine);
    for (const kind of ['grains', 'tokens', 'sessions', 'jobs', 'returns'] as const) {
      expect(second.count(kind).moved, kind).toBe(0);
    }
  });

  test('data of minions without an accepted key are left, and told', async () => {
    const brine = new Taken();
    const tally = await bring(stockOf({ banks: [grains('stranger'), grains('a')] }), brine);
    expect([...brine.banks.keys()]).toEqual(['grains a']);
    expect(tally.notes()).toEqual(['data of minions without an accepted key: stranger']);
  });

  test('data that are too large are told, and stop nothing', async () => {
    const tally = await bring(stockOf({ banks: [grains('huge'), grains('a')] }), new Taken());
    expect(tally.count('grains')).toEqual({ moved: 1, known: 0, left: 1 });
    expect(tally.notes()[0]).toContain('grains of huge are too large');
  });

  test('an outage ends it, so that nothing is called moved that is not', async () => {
    const brine = new Taken();
    brine.bank = () => Promise.reject(new Error('NATS is away'));
    await expect(bring(stockOf({ banks: [grains('a')] }), brine)).rejects.toThrow('NATS is away');
  });

  test('a token that has ended is no token, and a secret is in no note', async () => {
    const nameless = { ...token('x', NOW / 1_000 + 60), data: mapOf({ eauth: 'pam' }) };
    const brine = new Taken();
    const tally = await bring(stockOf({ tokens: [token('old', 5), nameless] }), brine);
    expect(brine.tokens.size).toBe(0);
    expect(tally.notes().join()).not.toContain('abc');
  });

  test('a token keeps its user, its end and its rights', async () => {
    const file = token('fred', NOW / 1_000 + 60);
    file.data.set('groups', ['ops']);
    file.data.set('auth_list', ['test.*']);
    const brine = new Taken();
    await bring(stockOf({ tokens: [file] }), brine);
    expect(brine.tokens.get('abc')).toEqual({
      name: 'fred',
      eauth: 'pam',
      start: 1.5,
      expire: NOW / 1_000 + 60,
      groups: ['ops'],
      authList: ['test.*'],
    });
  });

  test('a return has what the minion sent, also where the file holds a bare value', async () => {
    const bare = { ...job(JID, []), returns: returnsOf([{ id: 'a', value: 'text', timeMs: NOW }]) };
    const brine = new Taken();
    await bring(stockOf({ jobs: [bare] }), brine);
    const load = brine.returns.get(`${JID} a`);
    expect(load?.get('return')).toBe('text');
    expect(load?.get('fun')).toBe('test.ping');
  });

  test('what is no job id, or no minion id, is left and told', async () => {
    const odd = {
      ...job(JID, ['a']),
      returns: returnsOf([{ id: '../x', value: null, timeMs: NOW }]),
    };
    const brine = new Taken();
    const tally = await bring(stockOf({ jobs: [job('latest', ['a']), odd] }), brine);
    expect([...brine.jobIds]).toEqual([JID]);
    expect(brine.returns.size).toBe(0);
    expect(tally.notes()).toHaveLength(2);
  });

  test('a job of two caches is taken once, and so are its returns', async () => {
    const brine = new Taken();
    const both = [job(JID, ['a', 'b']), job(JID, ['b'])];
    const tally = await bring(stockOf({ jobs: both }), brine);
    expect(brine.parts).toEqual([3]);
    expect(tally.count('jobs')).toEqual({ moved: 1, known: 1, left: 0 });
    expect(tally.count('returns')).toEqual({ moved: 2, known: 1, left: 0 });
  });

  test('a job whose id is a time that no database has is left, and told', async () => {
    const brine = new Taken();
    const far = job('99999999999999999999', ['a']);
    const tally = await bring(stockOf({ jobs: [far, job(JID, ['a'])] }), brine);
    expect([...brine.jobIds]).toEqual([JID]);
    expect(tally.count('jobs')).toEqual({ moved: 1, known: 0, left: 1 });
  });

  test('a second look adds what is new, and tells nothing twice', async () => {
    const brine = new Taken();
    const first = await bring(stockOf({ banks: [grains('a'), grains('x')] }), brine);
    const later = first.after();
    const banks = [grains('a'), grains('b'), grains('x'), grains('y')];
    const look = { stock: stockOf({ banks }), brine, accepted, nowMs: NOW };
    await fromStock({ ...look, tally: later });
    first.add(later);
    expect(first.count('grains')).toEqual({ moved: 2, known: 0, left: 2 });
    expect(first.notes()).toEqual(['data of minions without an accepted key: x, y']);
  });

  test('parts are bounded, however many returns a job has', async () => {
    const ids = Array.from({ length: 2_500 }, (_, at) => `m${at}`);
    const brine = new Taken();
    await bring(stockOf({ jobs: [job(JID, ids)] }), brine);
    expect(brine.returns.size).toBe(2_500);
    expect(Math.max(...brine.parts)).toBeLessThanOrEqual(1_001);
    expect(brine.parts).toHaveLength(3);
  });

  test('a later look passes over data that did not change since', async () => {
    const brine = new Taken();
    await bring(stockOf({ banks: [grains('a', NOW - 5_000), grains('b')] }), brine, NOW - 1_000);
    expect([...brine.banks.keys()]).toEqual(['grains b']);
  });
});

describe('to a stock master', () => {
  test('all of it goes back, and is what came', async () => {
    const files = new Map<string, StockToken>();
    const jobs: JobFile[] = [];
    const banks: string[] = [];
    let kept: readonly string[] = [];
    const record: TokenRecord = { start: 1.5, expire: NOW, name: 'fred', eauth: 'pam' };
    const brine: BrineHistory = {
      banks: () => each([grains('a'), grains('deleted')]),
      tokens: () => Promise.resolve({ tokens: new Map([['abc', record]]), nameless: 1 }),
      sessions: () => each([{ id: 'a', key: KEY, timeMs: NOW }]),
      jobs: () => each([job(JID, ['a', 'b'])]),
    };
    const stock: StockIntake = {
      bank: ({ bank, id }) => Promise.resolve(banks.push(`${bank} ${id}`) > 0),
      token: (file) => Promise.resolve(files.set(file.token, file).size > 0),
      keepTokens: (wanted) => Promise.resolve(void (kept = [...wanted])),
      session: () => Promise.resolve(true),
      job: (one) => Promise.resolve({ jobs: jobs.push(one), returns: 1, known: 1 }),
    };
    const tally = new Tally();
    await toStock({ brine, stock, accepted, nowMs: NOW, tally });
    expect(banks).toEqual(['grains a']);
    expect(files.get('abc')?.data.get('name')).toBe('fred');
    expect(kept).toEqual(['abc']);
    expect(files.get('abc')?.data.get('token')).toBe('abc');
    expect(tally.count('returns')).toEqual({ moved: 1, known: 1, left: 0 });
    expect(tally.count('tokens')).toEqual({ moved: 1, known: 0, left: 1 });
  });
});

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ZmtpPeer } from '@brine/testing';
import { pack } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isClear, SparringMaster } from '../../test/sparring-master.ts';
import { monotonicMs } from '../clock.ts';
import type { JobReport } from '../load/job-run.ts';
import { publishBody, readPublishAnswer } from '../load/publish-request.ts';
import type { ChildPlan } from '../messages.ts';
import { Herd } from './herd.ts';
import { keyPoolFile } from './key-pool.ts';
import { hashOf } from './return-queue.ts';

const ONCE = { durationMs: 60_000, ratePerSecond: undefined };
const MINIONS = 12;

let dir: string;
let master: SparringMaster;
let herd: Herd | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-herd-'));
  master = await SparringMaster.start();
});

afterEach(async () => {
  herd?.close();
  herd = undefined;
  await master.close();
  await rm(dir, { recursive: true, force: true });
});

/** A herd that is connected. */
async function connected(more: Partial<ChildPlan> = {}): Promise<Herd> {
  const pool = { bits: 2048, pairs: 4, cacheDir: join(tmpdir(), 'brine-test-keys') };
  const made = await Herd.make({
    host: '127.0.0.1',
    retPort: master.retPort,
    publishPort: undefined,
    version: 3,
    keyPool: await keyPoolFile(pool, () => undefined),
    idPrefix: 'm-',
    first: 0,
    count: MINIONS,
    swarmFirst: 0,
    swarmCount: MINIONS,
    part: 0,
    parts: 1,
    behaviours: [],
    openEvery: 1,
    log: undefined,
    reconnectMs: [10, 20],
    keepAliveMs: 300_000,
    returnTimeoutMs: [5_000, 10_000],
    returnSends: 3,
    ...more,
  });
  herd = made;
  const loop = { ...ONCE, inFlight: 4, count: MINIONS };
  const { report } = await made.load({ of: 'connect' }, loop);
  expect(report).toMatchObject({ sent: MINIONS, answered: MINIONS });
  return made;
}

interface Ran extends JobReport {
  readonly jid: string;
  /** When it was published. */
  readonly sinceMs: number;
}

/** Publishes a job to all and waits until it is over. */
async function run(one: Herd, waitMs = 10_000): Promise<Ran> {
  const peer = await ZmtpPeer.open({ port: master.retPort });
  const body = await publishBody({ cachedir: master.cachedir, target: '*' });
  const sinceMs = monotonicMs();
  const answer = readPublishAnswer(await peer.request(body, 10_000));
  peer.close();
  const jid = answer.jid ?? '';
  expect(answer.minions).toHaveLength(MINIONS);
  const times = { sinceMs, untilMs: sinceMs + waitMs };
  const { report } = await one.follow({ kind: 'follow', jid, expected: MINIONS, ...times });
  if (report === undefined) throw new Error('the publication did not arrive');
  return { ...report, jid, sinceMs };
}

describe.each([2, 3] as const)('a herd of payload version %i', (version) => {
  it('logs in, answers a job, and finds every answer of the master in order', async () => {
    const one = await connected({ version });
    const job = await run(one);
    expect(job).toMatchObject({ reached: 12, returned: 12, acknowledged: 12, lost: 0, resends: 0 });
    expect(new Set(master.returns(job.jid)).size).toBe(MINIONS);
    const stats = one.stats();
    expect(stats).toMatchObject({ connected: 12, badReplies: 0, badPublications: 0 });
    // Each acknowledgement was opened, and each reply to a log-in.
    expect(stats.repliesOpened).toBe(24);
  });
});

it('asks again where the master can not answer a log-in now, as a stock minion does', async () => {
  let notNow = 0;
  master.tamper = (body, answer) => {
    if (!isClear(body, '_auth') || notNow >= 5) return answer;
    notNow += 1;
    return pack('bad load');
  };
  // Connects all, or fails.
  const one = await connected();
  expect(notNow).toBe(5);
  expect(await run(one)).toMatchObject({ reached: MINIONS, acknowledged: MINIONS });
});

describe('behaviours', () => {
  it('silent ones get the job and send nothing; twice is twice', async () => {
    const behaviours = [
      { share: 0.25, answer: 'never' },
      { share: 0.25, answer: 'twice' },
    ] as const;
    const one = await connected({ behaviours });
    const job = await run(one);
    expect(job).toMatchObject({ reached: 12, returned: 9, acknowledged: 9 });
    expect(one.stats().returnsAcknowledged).toBe(12);
    const ids = new Set(master.returns(job.jid));
    expect(ids.has('m-00002')).toBe(false);
    expect(ids.has('m-00003')).toBe(true);
  });

  it('delayed, dropped, failing, large and freshly logged in ones all answer', async () => {
    const behaviours = [
      { ids: 'm-00000', delayMs: 60 },
      { ids: 'm-00001', drop: true },
      { ids: 'm-00002', retcode: 1 },
      { ids: 'm-00003', returnBytes: 300_000 },
      { ids: 'm-00004', logInAgain: true },
    ];
    const one = await connected({ behaviours });
    const before = one.stats().logIns;
    const job = await run(one);
    expect(job).toMatchObject({ acknowledged: 12, resends: 0 });
    await expect.poll(() => one.stats().connected).toBe(12);
    expect(one.stats().logIns).toBe(before + 1);
    expect(job.ackedLast - job.sinceMs).toBeGreaterThan(59);
  });

  it('hostile ones send requests that a master refuses, and none is taken', async () => {
    const behaviours = [
      { ids: 'm-00000', hostile: 'garbage' },
      { ids: 'm-00001', hostile: 'bad-mac' },
      { ids: 'm-00002', hostile: 'wrong-id' },
    ] as const;
    const one = await connected({ behaviours });
    const taken = (): number => master.memory.events.filter(({ kind }) => kind === 'ret').length;
    const before = taken();
    const answers: string[] = [];
    master.tamper = (_body, answer) => {
      answers.push(Buffer.from(answer).toString('latin1'));
      return answer;
    };
    const job = await run(one);
    expect(job).toMatchObject({ reached: 12, acknowledged: 9 });
    expect(one.stats().hostileSent).toBe(3);
    await expect.poll(() => answers.filter((text) => /bad load|error/.test(text)).length).toBe(3);
    expect(taken()).toBe(before + 9);
  });
});

describe('returns', () => {
  it('are sent three times without an answer, then lost and counted', async () => {
    const one = await connected({ returnTimeoutMs: [150, 200] });
    let silent = 0;
    master.tamper = (body, answer) => {
      if (isClear(body, 'publish')) return answer;
      silent += 1;
      return 'silence';
    };
    const job = await run(one);
    expect(silent).toBe(3 * MINIONS);
    expect(job).toMatchObject({ acknowledged: 0, lost: 12, resends: 24, returned: 12 });
    expect(one.stats()).toMatchObject({ returnsSent: 36, returnsLost: 12, resends: 24 });
  });

  it('are sent again after a log-in when the master does not know the key', async () => {
    const one = await connected();
    const { logIns } = one.stats();
    let refused = 0;
    master.tamper = (body, answer) => {
      if (isClear(body, 'publish') || isClear(body, '_auth') || refused >= 5) return answer;
      refused += 1;
      return pack('bad load');
    };
    expect(await run(one)).toMatchObject({ acknowledged: 12, resends: 5, lost: 0 });
    expect(one.stats().logIns).toBe(logIns + 5);
  });

  it('with a forged acknowledgement are counted as badly answered', async () => {
    const one = await connected();
    master.tamper = (body, answer) => {
      if (isClear(body, 'publish')) return answer;
      const forged = Buffer.from(answer);
      forged[40] = (forged[40] ?? 0) ^ 1;
      return forged;
    };
    await run(one);
    expect(one.stats().badReplies).toBe(MINIONS);
  });
});

it('a master that starts again with another AES key has its first job answered by all', async () => {
  const one = await connected();
  await run(one);
  await master.close();
  await expect.poll(() => one.stats().connected).toBe(0);
  master = await SparringMaster.start(master);
  await expect.poll(() => one.stats().connected).toBe(MINIONS);
  const { logIns } = one.stats();
  expect(await run(one)).toMatchObject({ reached: 12, acknowledged: 12, lost: 0 });
  // Whether over the publication that did not open or over the return that was refused.
  expect(one.stats()).toMatchObject({ badPublications: 0, logIns: logIns + MINIONS });
});

describe('storms', () => {
  it('of returns, events, log-ins and publishes are answered', async () => {
    const one = await connected();
    const loop = { ...ONCE, inFlight: 8, count: 50 };
    const all = { sent: 50, answered: 50, refused: 0, timedOut: 0 };
    const orders = [
      { of: 'return', jids: [], returnBytes: undefined },
      { of: 'return', jids: [], returnBytes: 5_000 },
      { of: 'event', tag: 'a/b', dataBytes: 10 },
      { of: 'log-in' },
      { of: 'publish', body: await publishBody({ cachedir: master.cachedir, target: 'm-00001' }) },
    ] as const;
    for (const order of orders) {
      expect((await one.load(order, loop)).report).toMatchObject(all);
    }
    const tags = master.memory.events.map(({ tag }) => tag);
    expect(tags.filter((tag) => tag === 'a/b')).toHaveLength(50);
    const own = new Set(tags.filter((tag) => tag.includes('/ret/')).map((tag) => tag.slice(0, 30)));
    expect(own.size).toBeGreaterThanOrEqual(100);
    expect(one.stats()).toMatchObject({ badReplies: 0, badPublications: 0 });
  });

  it('of returns to jobs send each minion once per job', async () => {
    const one = await connected();
    const jids = ['20260102030405000001', '20260102030405000002'];
    const order = { of: 'return', jids, returnBytes: undefined } as const;
    await one.load(order, { ...ONCE, inFlight: 4, count: 2 * MINIONS });
    for (const jid of jids) expect(new Set(master.returns(jid)).size).toBe(MINIONS);
  });
});

it('a job that is sent again to others reaches those, and no minion runs it twice', async () => {
  const one = await connected();
  const jid = '20261122000000000001';
  await master.sendTo(jid, ['m-00001', 'm-00002']);
  await expect.poll(() => master.returns(jid).sort()).toEqual(['m-00001', 'm-00002']);
  await master.sendTo(jid, ['m-00002', 'm-00003']);
  await expect.poll(() => master.returns(jid).sort()).toEqual(['m-00001', 'm-00002', 'm-00003']);
  await master.sendTo(jid, ['m-00003', 'm-00004']);
  await expect.poll(() => master.returns(jid)).toContain('m-00004');
  expect(master.returns(jid)).toHaveLength(4);
  expect(one.stats()).toMatchObject({ badPublications: 0, returnsSent: 4 });
});

it('the log has every publication, send and acknowledgement', async () => {
  const log = join(dir, 'ledger.jsonl');
  const behaviours = [{ ids: 'm-00003', answer: 'never' }] as const;
  const one = await connected({ log, behaviours });
  const { jid } = await run(one);
  // The log is written a few times a second.
  const read = async () => {
    const text = await readFile(log, 'utf8');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const count = async (e: string) => (await read()).filter((line) => line['e'] === e).length;
  await expect.poll(() => count('acked')).toBe(11);
  const lines = await read();
  const received = lines.filter((line) => line['e'] === 'received');
  expect(received.reduce((sum, line) => sum + Number(line['count']), 0)).toBe(12);
  const sent = lines.filter((line) => line['e'] === 'sent');
  expect(sent).toHaveLength(11);
  for (const line of sent) expect(line).toMatchObject({ jid, try: 1, hash: hashOf(pack(true)) });
  expect(new Set(sent.map((line) => line['id'])).has('m-00003')).toBe(false);
  expect(Math.abs(Number(sent[0]?.['t']) - Date.now())).toBeLessThan(60_000);
});

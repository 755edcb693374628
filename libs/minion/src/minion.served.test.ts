import { fingerprint, PrivateKey } from '@brine/crypt';
import { MemoryKeyFile, TestClock, TestMaster } from '@brine/testing';
import { mapOf, pack, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FinishedJob } from './index.ts';
import { Minion } from './minion.ts';
import type { MinionSettings } from './settings.ts';

const SETTINGS: MinionSettings = {
  id: 'm1',
  publishPort: 4505,
  authTimeout: 5,
  authTries: 3,
  acceptanceWaitTime: 10,
  acceptanceWaitTimeMax: 40,
  rejectedRetry: false,
  masterFinger: '',
  hashType: 'sha256',
  encryptionAlgorithm: 'OAEP-SHA1',
  signingAlgorithm: 'PKCS1v15-SHA1',
  requestChannelTimeout: 60,
  requestChannelTries: 3,
  returnRetryTimer: 5,
  returnRetryTimerMax: 10,
  returnRetryTries: 3,
  signPubMessages: true,
  minionJidQueueHwm: 3,
  processCountMax: -1,
  enableLegacyStartupEvents: true,
  startEventGrains: ['os'],
  disableModules: ['cmd'],
};
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let masterKey: PrivateKey;
let otherKey: PrivateKey;
let minionKey: PrivateKey;
beforeAll(async () => {
  [masterKey, otherKey, minionKey] = await Promise.all([
    PrivateKey.generate(2048),
    PrivateKey.generate(2048),
    PrivateKey.generate(2048),
  ]);
});

let master: TestMaster;
let keyFile: MemoryKeyFile;
let clock: TestClock;
let stop: AbortController;
let running: Promise<unknown>;
let finished: FinishedJob[];
let jids = 0;

beforeEach(() => {
  master = new TestMaster(masterKey);
  master.minionPub = minionKey.publicKey.pem;
  keyFile = new MemoryKeyFile();
  clock = new TestClock();
  stop = new AbortController();
  finished = [];
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await running.catch(() => undefined);
});

function start(settings: Partial<MinionSettings> = {}): Promise<void> {
  const minion = new Minion({
    settings: { ...SETTINGS, ...settings },
    key: minionKey,
    masterKeyFile: keyFile,
    master,
    clock,
    log: silent,
    collectGrains: () => Promise.resolve(new Map([['os', 'Debian']])),
    finished: (job) => finished.push(job),
  });
  const run = minion.run(stop.signal);
  running = run;
  return run;
}

async function started(settings: Partial<MinionSettings> = {}): Promise<SaltMap> {
  const event = master.next('_minion_event');
  const second = event.then(() => master.next('_minion_event'));
  start(settings).catch(() => undefined);
  return second;
}

function job(fun: string, arg: SaltValue[] = [], over: Record<string, SaltValue> = {}): SaltMap {
  jids += 1;
  const jid = `20261120171037${String(jids).padStart(6, '0')}`;
  return mapOf({ fun, arg, tgt: '*', tgt_type: 'glob', jid, ret: '', user: 'root', ...over });
}

function returned(publication: SaltMap): Promise<SaltMap> {
  const load = master.next('_return');
  master.publish(master.frame(publication));
  return load;
}

describe('a minion that starts', () => {
  test('believes the first master, gets its pillar and announces itself', async () => {
    const event = await started();
    expect(keyFile.pem).toBe(masterKey.publicKey.pem.trim());
    expect(textOf(event, 'tag')).toBe('salt/minion/m1/start');
    expect(textOf(event, 'data')).toMatch(
      /^Minion m1 started at \w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/,
    );
    expect(event.get('grains')).toEqual(new Map([['os', 'Debian']]));
    expect(master.loads.map((load) => load.get('cmd')).slice(0, 2)).toEqual([
      '_pillar',
      '_minion_event',
    ]);
  });
  test('signs in to the master that it knows, and waits for one with another key', async () => {
    keyFile.pem = masterKey.publicKey.pem.trim();
    await started();
    stop.abort();
    await running;
    stop = new AbortController();
    clock = new TestClock();
    keyFile.pem = otherKey.publicKey.pem.trim();
    start().catch(() => undefined);
    await expect.poll(() => clock.sleeps.length).toBeGreaterThan(3);
    expect(clock.sleeps.slice(0, 4)).toEqual([10_000, 20_000, 40_000, 40_000]);
    expect(keyFile.pem).toBe(otherKey.publicKey.pem.trim());
  });
  test('waits while its key is pending and comes in when it is accepted', async () => {
    master.verdict = true;
    const event = started();
    await expect.poll(() => clock.sleeps.length).toBeGreaterThan(2);
    master.verdict = undefined;
    expect(textOf(await event, 'tag')).toBe('salt/minion/m1/start');
  });
  test('ends with 77 when it is rejected, after 10 to 20 seconds', async () => {
    master.verdict = false;
    await expect(start()).rejects.toMatchObject({ exitCode: 77 });
    expect(clock.sleeps).toEqual([15_000]);
  });
  test('ends with 42 for a master with another fingerprint', async () => {
    await expect(start({ masterFinger: 'aa:bb' })).rejects.toMatchObject({ exitCode: 42 });
    keyFile.pem = undefined;
    const finger = fingerprint(masterKey.publicKey.pem, '3008');
    expect(await started({ masterFinger: finger })).toBeDefined();
  });
  test.each([
    ['unsigned', () => pack(mapOf({ enc: 'clear', load: mapOf({ ret: true }) }))],
    ['bad load', () => pack('bad load')],
    ['no msgpack', () => Buffer.from([0xc1])],
    ['altered', (reply: Buffer) => flip(reply)],
  ])('tries again after an answer that is %s', async (_name, tampered) => {
    let times = 2;
    master.tamper = (cmd, reply) => (cmd === '_auth' && times-- > 0 ? tampered(reply) : undefined);
    expect(await started()).toBeDefined();
    expect(master.signIns).toBeGreaterThan(2);
  });
  test('ends when the master refuses its algorithms', async () => {
    master.tamper = () => pack(mapOf({ enc: 'clear', load: mapOf({ ret: 'bad enc algo' }) }));
    await expect(start()).rejects.toMatchObject({ exitCode: 1 });
  });
  test('asks again for a pillar that is not signed for this request', async () => {
    let first: Buffer | undefined;
    master.tamper = (cmd, reply) => {
      if (cmd !== '_pillar') return undefined;
      first ??= reply;
      return clock.sleeps.length < 2 && first !== reply ? first : undefined;
    };
    expect(await started()).toBeDefined();
  });
});

describe('a minion that receives jobs', () => {
  test('runs jobs that are for it and returns', async () => {
    await started();
    const publication = job('test.echo', ['Grüße'], { master_id: 'x', metadata: mapOf({ a: 1 }) });
    const load = await returned(publication);
    expect(Object.fromEntries(load)).toMatchObject({
      cmd: '_return',
      id: 'm1',
      jid: publication.get('jid'),
      fun: 'test.echo',
      fun_args: ['Grüße'],
      return: 'Grüße',
      retcode: 0,
      success: true,
      user: 'root',
      master_id: 'x',
      metadata: new Map([['a', 1]]),
    });
    expect(finished).toHaveLength(1);
  });
  test('answers one after the other', async () => {
    await started();
    await returned(job('test.ping'));
    for (let i = 0; i < 20; i += 1) {
      expect((await returned(job('test.ping'))).get('return')).toBe(true);
    }
  });
  test('ignores jobs of others, jobs that it has run, and old serials', async () => {
    await started();
    const first = job('test.ping');
    const frame = master.frame(first);
    const load = master.next('_return');
    master.publish(frame);
    await load;
    const before = master.loads.length;
    master.publish(frame);
    master.publish(master.frame(first));
    master.publish(master.frame(job('test.ping', [], { tgt: 'other' })));
    master.publish(master.frame(job('test.ping', [], { tgt_type: 'unknown' })));
    master.publish(master.frame(job('test.ping', [], { jid: '../../x' })));
    master.publish(Buffer.from('noise'));
    master.publish(master.frame(job('test.ping'), otherKey));
    await returned(job('test.ping'));
    expect(master.loads.length).toBe(before + 1);
  });
  test('unsigned publications are taken only where the configuration allows it', async () => {
    await started({ signPubMessages: false });
    const load = master.next('_return');
    master.publish(master.frame(job('test.ping'), otherKey));
    expect((await load).get('return')).toBe(true);
  });
  test('a new AES key costs one sign-in and no job', async () => {
    await started();
    const before = master.signIns;
    master.rotate();
    master.serial = 0;
    expect((await returned(job('test.ping'))).get('return')).toBe(true);
    expect(master.signIns).toBe(before + 1);
  });
  test('a new session key costs one sign-in and no return', async () => {
    await started();
    const before = master.signIns;
    const { aes } = master;
    master.rotate();
    master.aes = aes;
    expect((await returned(job('test.ping'))).get('return')).toBe(true);
    expect(master.signIns).toBe(before + 1);
    expect((await returned(job('test.ping'))).get('return')).toBe(true);
  });
  test('a return that the master does not take is sent again until it does', async () => {
    await started();
    let refusals = 7;
    master.tamper = (cmd) =>
      cmd === '_return' && refusals-- > 0
        ? pack('Some exception handling minion payload')
        : undefined;
    const publication = job('test.ping');
    master.publish(master.frame(publication));
    await expect.poll(() => refusals).toBeLessThan(0);
    const returns = master.loads.filter((load) => load.get('jid') === publication.get('jid'));
    expect(returns).toHaveLength(8);
    expect(clock.sleeps).toContain(30_000);
  });
  test('find_job names a job that runs, and a job that is ended returns nothing', async () => {
    await started();
    const long = job('test.sleep', [60]);
    master.publish(master.frame(long));
    const jid = textOf(long, 'jid') ?? '';
    const find = async (): Promise<SaltMap> =>
      (await returned(job('saltutil.find_job', [jid]))).get('return') as SaltMap;
    await expect.poll(async () => (await find()).get('fun')).toBe('test.sleep');
    const pid = async (): Promise<SaltValue | undefined> => (await find()).get('pid');
    await expect.poll(pid).not.toBe(process.pid);
    expect((await returned(job('saltutil.kill_job', [jid]))).get('return')).toContain(jid);
    await expect.poll(async () => (await find()).size).toBe(0);
    expect(master.loads.some((load) => load.get('jid') === jid)).toBe(false);
  });
  test('jobs of several functions return maps, disabled modules are not there', async () => {
    await started();
    const fun = ['test.ping', 'cmd.run', 'test.version'];
    const publication = job('x', [[], ['id'], []], { fun });
    const load = await returned(publication);
    expect((load.get('success') as SaltMap).get('test.ping')).toBe(true);
    expect((load.get('return') as SaltMap).get('cmd.run')).toBe("'cmd.run' is not available.");
    expect((load.get('retcode') as SaltMap).get('cmd.run')).toBe(1);
  });
  test('a refresh collects grains and pillar again', async () => {
    await started();
    master.pillar = mapOf({ site: 'new' });
    await returned(job('saltutil.refresh_pillar'));
    expect((await returned(job('pillar.get', ['site']))).get('return')).toBe('new');
  });
});

function flip(reply: Buffer): Buffer {
  const copy = Buffer.from(reply);
  const at = copy.length - 10;
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

import { loadMinionConfig } from '@brine/config';
import { PrivateKey } from '@brine/crypt';
import { MemoryKeyFile, TestClock, TestMaster } from '@brine/testing';
import type { SaltMap } from '@brine/wire';
import { mapOf, pack, textOf } from '@brine/wire';
import type { PublishedJob } from '@brine/wire/load';
import { afterEach, describe, expect, test } from 'vitest';
import { UpperLink } from './upper-link.ts';

const masterKey = await PrivateKey.generate(2048);
const syndicKey = await PrivateKey.generate(2048);
let ending = new AbortController();

afterEach(() => {
  ending.abort(new Error('the end'));
  ending = new AbortController();
});

function start(finger = '', legacy = true) {
  const master = new TestMaster(masterKey);
  const { options } = loadMinionConfig({ configDir: '/nonexistent', env: {} });
  const jobs: PublishedJob[] = [];
  const lines: string[] = [];
  const log = (_fields: object, text: string): void => void lines.push(text);
  const link = new UpperLink({
    name: 'above',
    options: { ...options, id: 'syn', enableLegacyStartupEvents: legacy },
    finger,
    publishPort: 0,
    key: syndicKey,
    masterKeyFile: new MemoryKeyFile(),
    master,
    clock: new TestClock(),
    log: { info: log, warn: log, error: log },
    onJob: (job) => void jobs.push(job),
  });
  const { signal } = ending;
  return { master, link, jobs, lines, signal, run: () => void link.run(signal) };
}

function job(changes: Record<string, string> = {}): SaltMap {
  const fixed = { fun: 'test.ping', arg: [], tgt: 'nobody', tgt_type: 'glob', jid: '1', ret: '' };
  return mapOf({ ...fixed, ...changes });
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
};

describe('the link to a master above', () => {
  test('announces the syndic, under both tags, once it receives jobs', async () => {
    const { master, link, run } = start();
    run();
    await until(() => master.loads.length === 3);
    const [question, ...announced] = master.loads;
    expect(question?.get('events')).toEqual([]);
    expect(announced.map((load) => textOf(load, 'tag'))).toEqual([
      'syndic_start',
      'salt/syndic/syn/start',
    ]);
    expect(textOf(announced[0] ?? mapOf({}), 'data')).toMatch(/^Syndic syn started at /);
    expect(link.status).toMatchObject({ name: 'above', isSubscribed: true, trouble: undefined });
  });

  test('reports the loss of its connection, and the next one', async () => {
    const { master, link, lines, run } = start('', false);
    const first = master.next('_minion_event');
    run();
    await first;
    master.link(false);
    expect(link.status).toMatchObject({ isSubscribed: false, trouble: 'no connection for jobs' });
    master.link(true);
    expect(link.status).toMatchObject({ isSubscribed: true, trouble: undefined });
    expect(lines).toEqual([
      'signed in',
      'receiving jobs of the master above',
      'no jobs of the master above until it is back',
      'receiving jobs of the master above',
    ]);
  });

  test('reports that the port for jobs is unreachable', async () => {
    const { master, link, lines, run } = start('', false);
    master.reachable = false;
    const first = master.next('_minion_event');
    run();
    await first;
    expect(link.status).toMatchObject({ isSubscribed: false, trouble: 'no connection for jobs' });
    expect(lines.at(-1)).toContain('no jobs of the master above yet');
  });

  test('the older tag is left out where minions leave it out', async () => {
    const { master, run } = start('', false);
    run();
    await until(() => master.loads.length === 2);
    expect(textOf(master.loads[1] ?? mapOf({}), 'tag')).toBe('salt/syndic/syn/start');
  });

  test('the start is sent until the master has it', async () => {
    const { master, run } = start('', false);
    let tries = 0;
    master.tamper = (cmd) => {
      if (cmd !== '_minion_event') return undefined;
      tries += 1;
      return tries === 2 || tries === 3 ? Buffer.from(pack('bad load')) : undefined;
    };
    run();
    await until(() => master.loads.length === 5);
    // The second and third are refused, before and after a new sign-in.
    const tag = 'salt/syndic/syn/start';
    const tags = master.loads.map((load) => textOf(load, 'tag'));
    expect(tags).toEqual([undefined, tag, tag, undefined, tag]);
  });

  test('receives every job, whichever minions it is for, and old serials never', async () => {
    const { master, link, jobs, run } = start();
    const started = master.next('_minion_event');
    run();
    await started;
    const frame = master.frame(job());
    master.publish(frame);
    master.publish(frame);
    master.publish(master.frame(job({ jid: '2', tgt: 'other*' })));
    await until(() => jobs.length === 2);
    expect(jobs.map(({ jid, tgt }) => [jid, tgt])).toEqual([
      ['1', 'nobody'],
      ['2', 'other*'],
    ]);
    expect(link.status.jobs).toBe(2);
  });

  test('a new AES key above costs no job', async () => {
    const { master, jobs, run } = start();
    const started = master.next('_minion_event');
    run();
    await started;
    master.rotate();
    master.publish(master.frame(job()));
    await until(() => jobs.length === 1);
    expect(master.signIns).toBe(2);
  });

  test('a master with another fingerprint sends no jobs, and is tried again', async () => {
    const { link, lines, run } = start('aa:bb');
    run();
    await until(() => lines.length >= 2);
    expect(link.status.isSubscribed).toBe(false);
    expect(link.status.trouble).toContain('another fingerprint');
  });
});

describe('the outcome of a request', () => {
  test('taken, refused with a text, or unknown', async () => {
    const { master, link, signal } = start();
    const load = mapOf({ cmd: '_syndic_return', load: [] });
    expect(await link.send(load, signal)).toBe('taken');
    const words = 'Some exception handling minion payload';
    master.tamper = (cmd) => (cmd === '_syndic_return' ? Buffer.from(pack(words)) : undefined);
    expect(await link.send(load, signal)).toBe('refused');
    master.tamper = (cmd) => (cmd === '_syndic_return' ? Buffer.from(pack('bad load')) : undefined);
    expect(await link.send(load, signal)).toBe('away');
    master.requests.request = () => Promise.reject(new Error('nobody there'));
    expect(await link.send(load, signal)).toBe('away');
  });

  test('after a loss a return goes to a master that has answered since', async () => {
    const { master, link, signal, run } = start('', false);
    run();
    await until(() => master.loads.length === 2);
    const returned = mapOf({ cmd: '_syndic_return', load: [] });
    expect(await link.send(returned, signal)).toBe('taken');
    expect(master.loads).toHaveLength(3);
    master.link(false);
    // A stock master that starts: its port takes every request, and no worker answers yet.
    const { request } = master.requests;
    const taken: Uint8Array[] = [];
    master.requests.request = (body) => {
      taken.push(body);
      return Promise.reject(new Error('no answer in time'));
    };
    expect(await link.send(returned, signal)).toBe('away');
    expect(await link.send(returned, signal)).toBe('away');
    master.loads.length = 0;
    master.requests.request = request;
    for (const body of taken) await request(body);
    expect(await link.send(returned, signal)).toBe('taken');
    expect(await link.send(returned, signal)).toBe('taken');
    const had = master.loads.map((load) => [textOf(load, 'cmd'), load.get('events')]);
    const nothing = ['_minion_event', []];
    const aReturn = ['_syndic_return', undefined];
    expect(had).toEqual([nothing, nothing, nothing, aReturn, aReturn]);
  });

  test('a refusal is an answer too, and one to an earlier request is none', async () => {
    const { master, link, signal } = start();
    const { request } = master.requests;
    const returned = mapOf({ cmd: '_syndic_return', load: [] });
    expect(await link.send(returned, signal)).toBe('taken');
    master.requests.request = () => Promise.reject(new Error('nobody there'));
    // Two at once: the master answers the second, which it had before the first was lost.
    const first = link.send(returned, signal);
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    master.requests.request = (body) => answered.then(() => request(body));
    const second = link.send(returned, signal);
    expect(await first).toBe('away');
    answer();
    expect(await second).toBe('taken');
    master.loads.length = 0;
    const words = Buffer.from(pack('Some exception handling minion payload'));
    master.requests.request = request;
    master.tamper = (cmd) => (cmd === '_minion_event' ? words : undefined);
    expect(await link.send(returned, signal)).toBe('taken');
    expect(await link.send(returned, signal)).toBe('taken');
    expect(master.loads.map((load) => textOf(load, 'cmd'))).toEqual([
      '_minion_event',
      '_syndic_return',
      '_syndic_return',
    ]);
  });
});

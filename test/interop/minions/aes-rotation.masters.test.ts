import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { dropFilePath, writeDropFile } from '@brine/cachedir';
import { type Crypticle, PrivateKey } from '@brine/crypt';
import { EventClient } from '@brine/ipc';
import { BrineMaster, freePorts, newestOf, saltVenv } from '@brine/testing';
import { authLoad, TestPeer } from '@brine/testing/peers';
import { textOf, unpackMap } from '@brine/wire';
import { readPublication } from '@brine/wire/frames';
import { Subscriber } from '@brine/zmq';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clear } from '../../../tools/request-table/frames.ts';
import { outcomeOf } from '../../../tools/request-table/outcome.ts';

/*
 * What a new AES key and a restart of everything cost minions in log-ins, counted at the gateway;
 * and that a deleted minion reads nothing more. Three stock minions and two of Brine's own; with
 * BRINE_LOGINS=20 that many stock ones. The first restart comes within seconds of the new key: what
 * the publisher reads back then is of the time before.
 */

/**
 * Minions of 3008.5 log in again each time the publisher was away. Those of 3007.17 then do so
 * about once a second, at a stock master too, until they start again. So they are not counted.
 */
const LOGS_IN_AGAIN = newestOf('3008');
const VERSIONS = [newestOf('3006'), newestOf('3006'), LOGS_IN_AGAIN];
const STOCK = Number(process.env['BRINE_LOGINS'] ?? 3);
const stockId = (n: number): string => `stock-${n}-${VERSIONS[n % VERSIONS.length]}`;
const STOCK_IDS = Array.from({ length: STOCK }, (_, n) => stockId(n));
const ANEW = STOCK_IDS.filter((id) => id.endsWith(LOGS_IN_AGAIN)).length;
const BRINE_IDS = ['own-0', 'own-1'];
const IDS = [...STOCK_IDS, ...BRINE_IDS];
const [DELETED = ''] = STOCK_IDS;
const STAYING = STOCK_IDS.filter((id) => id !== DELETED);
/** Knows what a minion knows, and runs nothing; deleted with the first one. */
const LISTENER = 'stock-0-listener';
/** All minions that run jobs. The listener is left out: it would never answer. */
const RUNNING = `* and not ${LISTENER}`;
const DELETED_GLOB = 'stock-0-*';
const EVENT_SOCKET = 'master_event_pub.ipc';
const WAIT = { timeout: 120_000, interval: 200 };
/**
 * A stock minion asks again if its log-in has no answer after 5 s. On a busy machine that is a
 * second log-in, which the new key did not cost. These minions are more patient.
 */
const PATIENT = { auth_timeout: 20 };

let master: BrineMaster;
let metricsPort: number;
let listener: TestPeer;
/** The key before the first rotation. */
let oldKey: Crypticle;
let subscriber: Subscriber;
const heard: Buffer[] = [];

beforeAll(async () => {
  const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
  [metricsPort = 0] = await freePorts(1);
  master = await BrineMaster.start({ brine: { workers: 2, metrics: { port: metricsPort } } });
  for (const [n, id] of STOCK_IDS.entries()) {
    const home = await master.sandbox.minion(id, master.home.retPort, {
      // A deleted one asks again at once instead of after ten seconds.
      acceptance_wait_time: 1,
      ...PATIENT,
    });
    master.sandbox.startMinion(venvs[n % VERSIONS.length]!, home);
  }
  for (const id of BRINE_IDS) await master.startMinion(id, PATIENT);
  listener = new TestPeer(LISTENER, await PrivateKey.generate(2048), master.home.retPort);
  const signedIn = listener.signIn();
  await master.acceptKeys([...IDS, LISTENER], 180_000);
  await signedIn;
  await master.waitForMinions(IDS, 240_000);
  subscriber = new Subscriber({ endpoint: `tcp://127.0.0.1:${master.home.publishPort}` });
  void (async () => {
    for await (const frames of subscriber) heard.push(frames.at(-1)!);
  })();
});
afterAll(async () => {
  await subscriber?.close();
  listener?.close();
  await master?.close();
});

/** Log-ins that the gateway has answered since it was started. */
async function logIns(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const counts = [
    ...(await answer.text()).matchAll(/^brine_gateway_request_seconds_count\{(.*)\} (\d+)$/gm),
  ];
  expect(counts).not.toEqual([]);
  // A log-in that is left without an answer comes again: it is counted then.
  const answered = ['class="auth"', 'outcome="reply"'];
  return counts
    .filter(([, labels]) => answered.every((label) => labels?.includes(label)))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}

/** The ids of the log-ins that are answered from now on, until it is closed. */
async function loggingIn(): Promise<{ readonly ids: string[]; readonly close: () => void }> {
  const ids: string[] = [];
  const events = await EventClient.connect({ path: join(master.home.sockDir, EVENT_SOCKET) });
  void (async () => {
    for await (const { tag, packed } of events) {
      if (tag === 'salt/auth') ids.push(textOf(unpackMap(packed), 'id') ?? '');
    }
  })();
  return { ids, close: () => events.close() };
}

async function rotated(): Promise<void> {
  const { cacheDir } = master.home;
  await writeDropFile(cacheDir, 'master');
  // It goes once the new key holds.
  await expect.poll(() => existsSync(dropFilePath(cacheDir)), WAIT).toBe(false);
}

/** What a minion can read of the publications that came in since then. */
function readable(key: Crypticle, from: number): readonly string[] {
  return heard.slice(from).flatMap((payload) => {
    try {
      const load = key.open(readPublication(payload).load);
      return load === undefined ? [] : [textOf(unpackMap(load), 'jid') ?? ''];
    } catch {
      return [];
    }
  });
}

/** Runs a command without output on all minions of a glob; the given ones must have run it. */
async function job(
  tgt: string,
  ids: readonly string[],
  ...command: readonly string[]
): Promise<void> {
  const args = ['-C', tgt, 'cmd.run', ...command, '-t', '100', '--static', '--out', 'json'];
  const { code, stdout, stderr } = await master.brine('salt', args, 180_000);
  expect(stdout, `exit code ${code}: ${stderr}`).toMatch(/^\{/);
  const answers = JSON.parse(stdout) as Record<string, unknown>;
  const missing = ids.filter((id) => answers[id] !== '');
  expect(missing).toEqual([]);
}

it('a new AES key costs each minion one log-in, and the job that tells them reaches all', async () => {
  const before = await logIns();
  const seen = await loggingIn();
  await rotated();
  expect(await logIns()).toBe(before);
  oldKey = listener.aes;
  const from = heard.length;
  await job(RUNNING, IDS, ':');
  await expect.poll(() => heard.length, WAIT).toBeGreaterThan(from);
  expect(readable(oldKey, from)).toEqual([]);
  await job(RUNNING, IDS, ':');
  const cost = (await logIns()) - before;
  process.stderr.write(`log-ins of ${IDS.length} minions after a new AES key: ${cost}\n`);
  seen.close();
  expect(cost, `log-ins of ${seen.ids.join(', ')}`).toBe(IDS.length);
  await listener.signIn();
}, 400_000);

/** How many answer now: minions take some time to connect again. */
async function answering(): Promise<number> {
  const args = ['-C', RUNNING, 'test.ping', '-t', '5', '--static', '--out', 'json'];
  const { stdout } = await master.brine('salt', args);
  const answers = Object.values(JSON.parse(stdout || '{}') as object);
  return answers.filter((answer) => answer === true).length;
}

it('a restart of everything costs no log-in but those that minions make by themselves', async () => {
  const from = heard.length;
  await master.restart();
  await expect.poll(answering, WAIT).toBe(IDS.length);
  expect(await logIns()).toBe(ANEW);
  expect(readable(oldKey, from)).toEqual([]);
  // The listener may have connected again after the last of those jobs.
  const heardAgain = async (): Promise<number> => {
    await answering();
    return readable(listener.aes, from).length;
  };
  await expect.poll(heardAgain, WAIT).toBeGreaterThan(0);
}, 400_000);

it('a deleted minion can not read the next publication', async () => {
  const events = await EventClient.connect({ path: join(master.home.sockDir, EVENT_SOCKET) });
  const renewed = (async () => {
    for await (const { tag, packed } of events) {
      if (tag === 'key' && unpackMap(packed).get('rotate_aes_key') === true) return;
    }
    throw new Error('the event socket was closed');
  })();
  await master.brine('key', ['-d', DELETED_GLOB, '-y']);
  await renewed;
  events.close();

  const from = heard.length;
  const mark = (id: string): string => join(master.sandbox.dir, `ran-${id}`);
  // Brine's own minions render no templates.
  await job('stock-*', STAYING, `touch ${mark("{{ grains['id'] }}")}`, 'template=jinja');
  await expect.poll(() => heard.length, WAIT).toBeGreaterThan(from);
  expect(readable(listener.aes, from)).toEqual([]);
  const asked = clear(authLoad(listener));
  expect(outcomeOf(await listener.raw(asked.body), asked)).not.toMatch(/accepted/);
  // It got the publication, could not open it, and asked to be let in again.
  const pending = join(master.home.pkiDir, 'minions_pre', DELETED);
  await expect.poll(() => existsSync(pending), WAIT).toBe(true);
  expect(STOCK_IDS.filter((id) => existsSync(mark(id)))).toEqual(STAYING);
}, 400_000);

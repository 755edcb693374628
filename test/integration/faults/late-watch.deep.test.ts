import { randomUUID } from 'node:crypto';
import { type Bus, connectBus, type RequestClass } from '@brine/bus';
import { RequestSender } from '@brine/bus/rpc';
import { Crypticle, PrivateKey } from '@brine/crypt';
import { BrineMaster } from '@brine/testing';
import { authLoad } from '@brine/testing/peers';
import { bytesOf, unpackMap } from '@brine/wire';
import { DEFAULT_ENC_ALGO } from '@brine/wire/frames';
import { parseAuthAnswer } from '@brine/wire/load';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { clear, sealed } from '../../../tools/request-table/frames.ts';
import { outcomeOf } from '../../../tools/request-table/outcome.ts';
import { BreakableNats } from './breakable-nats.ts';
import { LaggingNats } from './lagging-nats.ts';

/*
 * Workers hear of keys and sessions by watching buckets. Here they hear of them two seconds late,
 * so that a minion's first request reaches a worker that knows nothing of its log-in.
 */

const LOG_INS = 1000;
const AT_ONCE = 16;
const LAG_MS = 2_000;
const WATCHED = /^\$KV\.brine_(?:keys|sessions)\./;
const DEADLINE_MS = 60_000;
const TRIES_MAX = 10;

let nats: BreakableNats;
let late: LaggingNats;
let master: BrineMaster;
let key: PrivateKey;
const buses: Bus[] = [];
const ways: LaggingNats[] = [];

beforeAll(async () => {
  key = await PrivateKey.generate(2048);
  nats = await BreakableNats.start();
  late = await LaggingNats.start(nats.url, (subject) => (WATCHED.test(subject) ? LAG_MS : 0));
  master = await BrineMaster.start({
    auto_accept: true,
    brine: { workers: 2, nats: { url: late.url } },
  });
});
afterAll(async () => {
  for (const bus of buses) await bus.close();
  for (const way of ways) await way[Symbol.asyncDispose]();
  await master?.close();
  await late?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
});

/** A gateway that hears of one worker only: all its requests go there. */
async function gatewayTo(worker: string): Promise<RequestSender> {
  const way = await LaggingNats.start(nats.url, (subject) =>
    subject.startsWith('brine.workers.') && subject !== `brine.workers.${worker}` ? 'drop' : 0,
  );
  ways.push(way);
  const bus = await connectBus({ url: way.url, name: 'req-gateway' });
  buses.push(bus);
  const sender = new RequestSender(bus, { host: 'test' });
  await expect.poll(() => sender.stats().workers, { timeout: 30_000 }).toBe(1);
  return sender;
}

async function workerIds(): Promise<readonly string[]> {
  const bus = await connectBus({ url: nats.url, name: 'req-gateway' });
  buses.push(bus);
  const ids = new Set<string>();
  bus.connection.subscribe('brine.workers.*', {
    callback: (_error, { subject }) => void ids.add(subject.replace('brine.workers.', '')),
  });
  await expect.poll(() => ids.size, { timeout: 30_000 }).toBe(2);
  return [...ids];
}

async function ask(sender: RequestSender, cls: RequestClass, body: Uint8Array): Promise<Buffer> {
  for (let tries = 1; ; tries += 1) {
    const deadlineMs = Date.now() + DEADLINE_MS;
    const outcome = await sender.send({ id: randomUUID(), class: cls, body, deadlineMs });
    if (outcome.kind === 'reply') return Buffer.from(outcome.body);
    // Left unanswered, as by a worker that can not reach its state in time: a minion asks again.
    if (outcome.kind !== 'drop' || tries === TRIES_MAX) throw new Error(JSON.stringify(outcome));
  }
}

test(`${LOG_INS} log-ins, each followed at once by a request to the other worker`, async () => {
  const senders = await Promise.all((await workerIds()).map(gatewayTo));
  const outcomes = new Map<string, number>();
  let unheard = 0;

  const logInAndAsk = async (n: number): Promise<void> => {
    const [one, other] = n % 2 === 0 ? senders : senders.toReversed();
    const minion = { id: `late-${n}`, key };
    const answer = unpackMap(await ask(one!, 'auth', clear(authLoad(minion)).body));
    const accepted = parseAuthAnswer(bytesOf(answer, 'load')!);
    if (accepted.kind !== 'accept') throw new Error(`${minion.id}: ${accepted.kind}`);
    const opened = key.oaepDecrypt(accepted.accept.session, DEFAULT_ENC_ALGO);
    const session = new Crypticle(opened.toString('ascii'));
    const how = { sealedWith: session, version: 3, outerId: minion.id };
    const request = sealed(sealedLoad(minion, '_file_envs'), how);
    const outcome = outcomeOf(await ask(other!, 'aes', request.body), request);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    // The server sends a watch 500 entries at a time, so it may not even have sent this one.
    if (late.passed(`$KV.brine_sessions.${minion.id}`) === 0) unheard += 1;
  };

  let next = 0;
  const line = async (): Promise<void> => {
    while (next < LOG_INS) await logInAndAsk(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
  expect([...outcomes]).toEqual([['sealed ["base"]', LOG_INS]]);
  // Were the watch no later than usual, nothing would be shown.
  expect(unheard).toBeGreaterThan(LOG_INS / 2);
}, 300_000);

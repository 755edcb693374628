// What a return costs in a worker's own code, NATS left out: node --conditions=source --import tsx
// apps/worker-pool/bench/returns.ts [seconds]. From the gateway's bundle to the answer's bundle.
import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { RequestReceiver } from '@brine/bus/rpc';
import { Crypticle, minionToken, newKeyString, PrivateKey } from '@brine/crypt';
import { JidMaker } from '@brine/job';
import { Answerer } from '@brine/master';
import { StreamEvents } from '@brine/master-state';
import { memoryMaster } from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import { aesEnvelope } from '@brine/wire/frames';

const SECONDS = Number(process.argv[2] ?? 3);
const ROUNDS = 5;
const MINIONS = 50;
/** Requests of one bundle, as a busy gateway sends them. */
const BUNDLED = 64;

type Callback = (error: null, msg: object) => void;

/** As much of a bus as a worker needs: what it appends is stored at the end of the turn. */
function storingBus(answered: (bytes: number) => void) {
  const callbacks = new Map<string, Callback>();
  const slots = new Map<string, (msg: object) => void>();
  let next = 0;
  let seq = 0;
  const connection = {
    isClosed: () => false,
    isDraining: () => false,
    subscribe: (subject: string, { callback }: { readonly callback: Callback }) => {
      callbacks.set(subject, callback);
      return { unsubscribe: () => undefined };
    },
    publish: (subject: string, payload: Uint8Array, options: { readonly reply?: string } = {}) => {
      if (subject.startsWith('_INBOX')) return answered(payload.length);
      const settle = slots.get(options.reply ?? '');
      if (settle === undefined) return; // an announcement
      const data = Buffer.from(JSON.stringify({ stream: 'EVENTS', seq: (seq += 1) }));
      setImmediate(() => settle({ data, headers: undefined }));
    },
  };
  const bus = {
    status: 'connected',
    connection,
    closed: new Promise(() => undefined),
    wheel: { set: () => ({ clear: () => undefined }) },
    onReconnect: () => () => undefined,
    inbox: {
      open: (_target: string, onMessage: (msg: object) => void) => {
        const subject = `i.${(next += 1)}`;
        slots.set(subject, onMessage);
        return { subject, close: () => void slots.delete(subject) };
      },
    },
  };
  return { bus: bus as unknown as Bus, callbacks };
}

const masterKey = await PrivateKey.generate(2048);
const minionKey = await PrivateKey.generate(2048);
const master = memoryMaster({ masterKey });
const tok = minionToken(minionKey);
const jid = new JidMaker().next(Date.now());
const frames: Buffer[] = [];
for (let n = 0; n < MINIONS; n += 1) {
  const id = `minion-${n}.example.com`;
  const session = new Crypticle(newKeyString());
  master.setKey(id, { state: 'accepted', pub: minionKey.publicKey.pem, denied: [] });
  master.sessions.set(id, session);
  const load = mapOf({
    cmd: '_return',
    id,
    success: true,
    return: true,
    retcode: 0,
    jid,
    fun: 'test.ping',
    fun_args: [],
    user: 'root',
    _stamp: new Date().toISOString(),
    tok,
    nonce: '0'.repeat(32),
    ts: Math.floor(Date.now() / 1000),
  });
  frames.push(aesEnvelope({ load: session.seal(pack(load)), version: 3, id }));
}

let answers = 0;
let wake: (() => void) | undefined;
const { bus, callbacks } = storingBus(() => {
  answers += 1;
  wake?.();
});
const events = new StreamEvents(new EventWriter(bus));
const faults: unknown[] = [];
const answerer = new Answerer({ ...master.ports, events }, (fault) => faults.push(fault));
const receiver = new RequestReceiver(bus, {
  workerId: 'w1',
  host: 'h',
  concurrency: { aes: 256 },
  onError: (error) => faults.push(error),
});
receiver.serve((request) => answerer.answer(request));
const receive = callbacks.get('brine.req.aes.w1');
if (receive === undefined) throw new Error('the worker takes no sealed requests');

/** A bundle of requests: see libs/bus/src/rpc/bundle.ts and request-frame.ts. */
function bundle(from: number): Buffer {
  const parts: Buffer[] = [];
  for (let n = from; n < from + BUNDLED; n += 1) {
    const head = Buffer.from(
      JSON.stringify({
        id: `gw-1-${n}`,
        host: 'host-1',
        deadlineMs: Date.now() + 60_000,
        peer: '192.0.2.1',
        receivedMs: Date.now(),
      }),
    );
    const frame = frames[n % MINIONS] ?? Buffer.alloc(0);
    const slot = Buffer.from(n.toString(36), 'latin1');
    const lengths = Buffer.alloc(9);
    lengths.writeUInt8(slot.length, 0);
    lengths.writeUInt32BE(4 + head.length + frame.length, 1);
    lengths.writeUInt32BE(head.length, 5);
    parts.push(lengths.subarray(0, 5), slot, lengths.subarray(5), head, frame);
  }
  return Buffer.concat(parts);
}

async function round(ms: number): Promise<number> {
  const until = performance.now() + ms;
  const own = process.cpuUsage();
  let sent = 0;
  let made = 0;
  while (performance.now() < until) {
    const before = process.cpuUsage();
    const data = bundle(sent);
    const after = process.cpuUsage(before);
    made += after.user + after.system;
    const stopAt = answers + 1;
    receive?.(null, { data, reply: '_INBOX.gw.g1.all' });
    sent += BUNDLED;
    while (answers < stopAt) await new Promise<void>((resolve) => (wake = resolve));
  }
  const { user, system } = process.cpuUsage(own);
  return (user + system - made) / sent;
}

for (let n = 1; n <= ROUNDS; n += 1) {
  const us = await round((SECONDS * 1_000) / ROUNDS);
  process.stdout.write(`round ${n}: ${us.toFixed(1)} µs of CPU for a return\n`);
}
if (faults.length > 0) throw new Error(`${faults.length} faults`, { cause: faults[0] });
process.exit(0);

// The usual return takes fewer steps than any other request. Whatever comes, these steps and the
// full ones must make the same event, the same answer and the same counts.
import { Crypticle, minionToken, PrivateKey } from '@brine/crypt';
import { JidMaker } from '@brine/job';
import { type MemoryMaster, memoryMaster, mutated, randomFrom, vectorFile } from '@brine/testing';
import { mapOf, pack, Refusal, type SaltMap, type SaltValue, unpack, unpackMap } from '@brine/wire';
import { type AesEnvelope, aesEnvelope, readEnvelope } from '@brine/wire/frames';
import { expect, test } from 'vitest';
import { runAesCommand } from './aes/commands.ts';
import { usualReturn } from './aes/return.ts';
import { Answerer } from './answer.ts';
import { openAtOnce, openRequest } from './channel.ts';
import { TokenChecks } from './token-check.ts';

/** BRINE_FRAMES=1000000 compares as many. */
const FRAMES = Number(process.env['BRINE_FRAMES'] ?? 4_000);

interface RequestVector {
  readonly id: string;
  readonly cmd: string;
  readonly version: number;
  readonly key: string;
  readonly request: string;
}
const vectors = vectorFile<{
  readonly minion_keys: Record<string, { readonly pem: string; readonly pub: string }>;
  readonly requests: readonly RequestVector[];
}>('requests.json');
const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);
const recorded = vectors.requests.filter(({ cmd, version }) => cmd === '_return' && version >= 3);
const [first] = recorded;
if (first === undefined) throw new Error('no recorded return');
const MINION = first.id;
const OTHER = Object.keys(vectors.minion_keys).find((id) => id !== MINION) ?? '';
const session = new Crypticle(first.key);
const NEXT_JID = new JidMaker().next(Date.now());
const TOK = minionToken(PrivateKey.parse(vectors.minion_keys[MINION]!.pem));

function masterNow(): MemoryMaster {
  const master = memoryMaster({ masterKey, rules: { minimumAuthVersion: 0 } });
  for (const [id, { pub }] of Object.entries(vectors.minion_keys)) {
    master.setKey(id, { state: 'accepted', pub, denied: [] });
  }
  master.sessions.set(MINION, session);
  // A return of a schedule gets its jid here: the same one by both ways.
  return { ...master, ports: { ...master.ports, nextJid: () => NEXT_JID } };
}

/** What became of a request. */
interface Outcome {
  readonly answer: { readonly value: unknown; readonly faults: readonly string[] };
  readonly events: MemoryMaster['events'];
  readonly counts: ReadonlyMap<string, number>;
}

/** What this master noted since the last time. */
function noted({ events, counts }: MemoryMaster): Omit<Outcome, 'answer'> {
  // The one thing that tells the two ways apart.
  counts.delete('returns_in_full');
  const since = { events: events.splice(0), counts: new Map(counts) };
  counts.clear();
  return since;
}

/** The value inside an answer; a refusal is in the clear. */
function valueOf(body: Uint8Array): unknown {
  const value = unpack(body);
  return value instanceof Uint8Array ? session.open(value)?.toString('hex') : value;
}

const served = masterNow();
let faults: string[] = [];
const answerer = new Answerer(served.ports, (fault) => faults.push(String(fault)));

async function asServed(body: Buffer): Promise<Outcome> {
  faults = [];
  const answer = await answerer.answer({ id: 'r1', body, gatewayHost: 'h' });
  const value = answer.kind === 'reply' ? valueOf(answer.body) : answer.kind;
  return { answer: { value, faults }, ...noted(served) };
}

const full = masterNow();
const tokens = new TokenChecks();

/** By the steps that every sealed request takes; undefined for what is refused before them. */
async function inFull(body: Buffer): Promise<Outcome | undefined> {
  const envelope = envelopeOf(body);
  if (envelope === undefined) return undefined;
  const opened = await openRequest(full.ports, tokens, envelope);
  if (typeof opened === 'string') {
    return { answer: { value: opened, faults: [] }, ...noted(full) };
  }
  const { crypticle, nonce } = opened;
  const request = { id: 'r1', body, gatewayHost: 'h' };
  try {
    const asked = { request, version: envelope.version, ...opened };
    const { value } = await runAesCommand(full.ports, asked);
    const sealed = crypticle.seal(pack(value), nonce === undefined ? {} : { nonce });
    return { answer: { value: valueOf(pack(sealed)), faults: [] }, ...noted(full) };
  } catch (fault) {
    return { answer: { value: 'fault', faults: [String(fault)] }, ...noted(full) };
  }
}

function envelopeOf(body: Buffer): AesEnvelope | undefined {
  try {
    const envelope = readEnvelope(body, { minimumAuthVersion: 0 });
    return envelope.enc === 'aes' ? envelope : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function frame(load: SaltMap | Buffer, envelope: { id?: string; version?: number } = {}): Buffer {
  const body = load instanceof Map ? pack(load) : load;
  return aesEnvelope({ load: session.seal(body), version: 3, id: MINION, ...envelope });
}

function usualLoad(more: Readonly<Record<string, SaltValue | undefined>> = {}): SaltMap {
  return mapOf({
    cmd: '_return',
    id: MINION,
    jid: '20261125080000000001',
    fun: 'test.ping',
    fun_args: [],
    return: true,
    retcode: 0,
    success: true,
    tok: TOK,
    nonce: '0'.repeat(32),
    ts: Math.floor(Date.now() / 1000),
    ...more,
  });
}

const looking = masterNow();

function isUsual(body: Buffer): boolean {
  const envelope = envelopeOf(body);
  if (envelope === undefined) return false;
  const opened = openAtOnce(looking.ports, tokens, envelope);
  if (opened === undefined) return false;
  return usualReturn(looking.ports, { id: 'r', body, gatewayHost: 'h' }, opened) !== undefined;
}

/** A field that makes a return unusual, or wrong. */
const ODD: Readonly<Record<string, Readonly<Record<string, SaltValue | undefined>>>> = {
  'another command': { cmd: '_mine_get' },
  'a command that is none': { cmd: '__class__' },
  'no command': { cmd: undefined },
  'no jid': { jid: undefined },
  'no return': { return: undefined },
  'the jid of a schedule': { jid: 'req' },
  'a jid that is not kept': { jid: 'nocache' },
  'a jid that is none': { jid: '../x' },
  'a jid that is a number': { jid: 20261125080000 },
  'the id of another minion': { id: OTHER },
  'an id that is none': { id: 7 },
  'no id': { id: undefined },
  'no token': { tok: undefined },
  'a wrong token': { tok: Buffer.from('salt') },
  'another resource': { resource_id: OTHER },
  'its own resource': { resource_id: MINION },
  'failed states': {
    fun: 'state.sls',
    retcode: 2,
    success: false,
    return: mapOf({ 'cmd_|-a_|-b_|-run': mapOf({ result: false }) }),
  },
};
/** A field that changes nothing in how a return is taken. */
const PLAIN: Readonly<Record<string, Readonly<Record<string, SaltValue | undefined>>>> = {
  'nothing more': {},
  'a trace': { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  'a failure': { fun: 'cmd.run', retcode: 1, success: false },
  'states that went well': { fun: 'state.apply', return: mapOf({ a: mapOf({ result: true }) }) },
  'words of the master': { user_of_master: 'x', pillar: mapOf({}) },
  'no nonce': { nonce: undefined },
  'a list of functions': { fun: ['test.ping', 'test.arg'], retcode: mapOf({ a: 0 }) },
  'an outputter': { out: 'nested', metadata: mapOf({ a: 1 }) },
};

async function compare(body: Buffer): Promise<void> {
  const expected = await inFull(body);
  if (expected === undefined) return;
  const found = await asServed(body);
  // What the answer to a fault is, stands in answer.test.ts.
  if (expected.answer.value === 'fault') expect(found.events).toEqual(expected.events);
  else expect(found).toEqual(expected);
}

test.each(Object.entries(PLAIN))('a return with %s is the usual one', async (_name, fields) => {
  const body = frame(usualLoad(fields));
  expect(isUsual(body)).toBe(true);
  await compare(body);
});

test.each(Object.entries(ODD))('a return with %s takes all steps', async (_name, fields) => {
  const body = frame(usualLoad(fields));
  expect(isUsual(body)).toBe(false);
  await compare(body);
});

test.each([
  ['version 2', { version: 2 }],
  ['a newer version', { version: 4 }],
  ['the id of another minion', { id: OTHER }],
  ['the id of a stranger', { id: 'stranger' }],
  ['an id that is no name', { id: '../x' }],
])('an envelope with %s', async (_name, envelope) => {
  await compare(frame(usualLoad(), envelope));
});

test('recorded returns are usual, and the same by all steps', async () => {
  for (const { request } of recorded.filter(({ id, key }) => id === MINION && key === first.key)) {
    await compare(Buffer.from(request, 'base64'));
  }
});

test(
  `${FRAMES} returns with fields changed and bytes flipped`,
  async () => {
    const random = randomFrom(20261125);
    const values: readonly SaltValue[] = [
      ...[null, true, false, 0, -1, 1e300, 2n ** 63n, '', '_return', 'req', MINION, OTHER],
      ...['\0', 'ü', Buffer.from([0xff, 0xfe]), [], ['x'], new Map(), mapOf({ result: false })],
    ];
    const names = [...usualLoad().keys(), 'resource_id', 'traceparent', 'sig', 'out', 'x'];
    const any = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
    let usual = 0;
    for (let n = 0; n < FRAMES; n += 1) {
      const load = usualLoad();
      for (let left = Math.floor(random() * 3); left > 0; left -= 1) {
        const name = any(names);
        if (random() < 0.3) load.delete(name);
        else load.set(name, any(values));
      }
      let plain = pack(load);
      if (random() < 0.5) plain = Buffer.from(mutated([plain], random).bytes);
      const body = frame(plain);
      if (isUsual(body)) usual += 1;
      await compare(body);
    }
    // Otherwise this compared the full steps with themselves.
    expect(usual).toBeGreaterThan(FRAMES / 20);
    expect(usual).toBeLessThan(FRAMES);
  },
  600_000 + FRAMES,
);

test('what is usual is noted once', async () => {
  const master = masterNow();
  const traced: string[] = [];
  const ports = {
    ...master.ports,
    traceReturn: ({ minion }: { readonly minion: string }) => traced.push(minion) > 0,
  };
  const answerer = new Answerer(ports, () => undefined);
  const answer = await answerer.answer({ id: 'r', body: frame(usualLoad()), gatewayHost: 'h' });
  expect(traced).toEqual([MINION]);
  expect(answer).toMatchObject({ about: { kind: 'return', minion: MINION, traced: true } });
  expect(master.events).toMatchObject([{ kind: 'ret', traced: true }]);
  expect(unpackMap(master.events[0]!.body).has('tok')).toBe(false);
});

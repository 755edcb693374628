import { Crypticle, PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, unpack, unpackMap } from '@brine/wire';
import { parsePrivateData, parsePrivateReply, parseSignedPrivate } from '@brine/wire/load';
import { describe, expect, it } from 'vitest';
import { Answerer } from './answer.ts';
import type { MasterPorts } from './ports/ports.ts';

interface RequestVector {
  readonly name: string;
  readonly version: number;
  readonly id: string;
  readonly cmd: string;
  readonly key: string;
  readonly request: string;
  readonly reply: string;
  readonly reply_kind: 'sealed' | 'private';
  readonly load: { readonly nonce: string; readonly id?: string; readonly grains?: object };
}
interface OddVector {
  readonly name: string;
  readonly request: string;
  readonly reply: string;
}
const vectors = vectorFile<{
  readonly minion_keys: Record<string, { readonly pem: string; readonly pub: string }>;
  readonly requests: readonly RequestVector[];
  readonly odd: readonly OddVector[];
}>('requests.json');
const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);

/** Commands whose answers come from data of the recording master that this one does not have. */
const ANSWERED_FROM_DATA: ReadonlySet<string> = new Set([
  '_pillar',
  '_file_envs',
  '_file_find',
  '_file_hash',
  '_file_hash_and_stat',
  '_file_list',
  '_serve_file',
  '_file_recv',
  '_mine_get',
  '_master_opts',
  'minion_runner',
  'minion_pub',
  'pub_ret',
  'minion_publish',
  '_master_tops',
  '_dir_list',
  '_symlink_list',
  '_file_list_emptydirs',
  'revoke_auth',
]);

function masterFor(vector: RequestVector): MemoryMaster {
  const master = memoryMaster({
    masterKey,
    aesKeyString: vector.version < 3 ? vector.key : new Crypticle(KEY).keyString,
    rules: { minimumAuthVersion: 0 },
    // The job cache knows none of the recorded jobs.
    answerQuery: () => null,
  });
  const pub = vectors.minion_keys[vector.id]!.pub;
  master.setKey(vector.id, { state: 'accepted', pub, denied: [] });
  if (vector.version >= 3) master.sessions.set(vector.id, new Crypticle(vector.key));
  return master;
}
const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc=';

async function answerOf(master: MemoryMaster, body: Buffer): Promise<Buffer> {
  const faults: unknown[] = [];
  const answerer = new Answerer(master.ports, (fault) => faults.push(fault));
  const answer = await answerer.answer({ id: 'r1', body, gatewayHost: 'h' });
  expect(faults).toEqual([]);
  if (answer.kind !== 'reply') throw new Error('no reply');
  return Buffer.from(answer.body);
}

function opened(vector: RequestVector, reply: Buffer): unknown {
  const blob = unpack(reply) as Uint8Array;
  const body = new Crypticle(vector.key).openReply(blob, vector.load.nonce);
  return body === undefined ? undefined : unpack(body);
}

describe('requests recorded from real minions', () => {
  const sealed = vectors.requests.filter((vector) => vector.reply_kind === 'sealed');

  it.each(sealed.map((vector) => [vector.name, vector] as const))(
    '%s is opened, checked and answered',
    async (_name, vector) => {
      const master = masterFor(vector);
      const reply = await answerOf(master, Buffer.from(vector.request, 'base64'));
      const recorded = opened(vector, Buffer.from(vector.reply, 'base64'));
      const value = opened(vector, reply);
      if (ANSWERED_FROM_DATA.has(vector.cmd)) expect(value).not.toBeUndefined();
      else expect(value).toEqual(recorded);
      expect([...master.counts.keys()].filter((name) => name.startsWith('aes_refused'))).toEqual(
        [],
      );
    },
  );

  const returns = vectors.requests.filter((vector) => vector.cmd === '_return');
  it.each(returns.map((vector) => [vector.name, vector] as const))(
    '%s becomes the same event each time it is sent, without token and nonce',
    async (_name, vector) => {
      const master = masterFor(vector);
      await answerOf(master, Buffer.from(vector.request, 'base64'));
      await answerOf(master, Buffer.from(vector.request, 'base64'));
      const [event, again, ...more] = master.events.filter(({ kind }) => kind === 'ret');
      if (event === undefined) throw new Error('no event');
      expect(again).toEqual(event);
      expect(more).toEqual([]);
      const data = unpackMap(event.body);
      expect(event.tag).toBe(`salt/job/${event.jid}/ret/${vector.id}`);
      expect(data.has('tok')).toBe(false);
      expect(data.has('nonce')).toBe(false);
      expect(data.get('id')).toBe(vector.id);
    },
  );

  it.each(returns.map((vector) => [vector.name, vector] as const))(
    '%s is a word of the minion, with its address where a token proves it',
    async (_name, vector) => {
      const master = masterFor(vector);
      const heard: (string | undefined)[][] = [];
      const ports: MasterPorts = {
        ...master.ports,
        proven: (id, address, jid) => void heard.push([id, address, jid]),
      };
      const answerer = new Answerer(ports, () => undefined);
      const body = Buffer.from(vector.request, 'base64');
      await answerer.answer({ id: 'r1', body, gatewayHost: 'h', peer: '10.0.0.1' });
      const jid = master.events.find(({ kind }) => kind === 'ret')?.jid;
      // 3006.5 returns carry no token.
      expect(heard).toEqual([[vector.id, vector.version < 3 ? undefined : '10.0.0.1', jid]]);
    },
  );

  it('a request that is refused is no word of a minion', async () => {
    const vector = sealed.find((entry) => entry.version === 3)!;
    const master = masterFor(vector);
    const pub = vectors.minion_keys[vector.id]!.pub;
    master.setKey(vector.id, { state: 'rejected', pub, denied: [] });
    const heard: string[] = [];
    const ports: MasterPorts = { ...master.ports, proven: (id) => void heard.push(id) };
    const answerer = new Answerer(ports, () => undefined);
    const body = Buffer.from(vector.request, 'base64');
    await answerer.answer({ id: 'r1', body, gatewayHost: 'h', peer: '10.0.0.1' });
    expect(heard).toEqual([]);
  });

  const pillars = vectors.requests.filter((vector) => vector.cmd === '_pillar');
  it.each(pillars.map((vector) => [vector.name, vector] as const))(
    '%s gets an empty pillar, signed and sealed to it alone, and its grains are kept',
    async (_name, vector) => {
      const master = masterFor(vector);
      const reply = parsePrivateReply(
        await answerOf(master, Buffer.from(vector.request, 'base64')),
      );
      const minion = PrivateKey.parse(vectors.minion_keys[vector.id]!.pem);

      const key = minion.oaepDecrypt(reply.key, 'OAEP-SHA1').toString('ascii');
      const signed = parseSignedPrivate(new Crypticle(key).open(reply.pillar)!);
      expect(masterKey.publicKey.verify(signed.data, signed.sig, 'PKCS1v15-SHA1')).toBe(true);
      const data = parsePrivateData(signed.data);
      expect(data.nonce).toBe(vector.load.nonce);
      expect(data.pillar).toEqual(new Map());
      expect(Buffer.compare(data.key, reply.key)).toBe(0);
      const grains = master.grains.get(vector.id);
      expect(isMap(grains) && grains.get('id')).toBe(vector.id);
    },
  );

  it('a request of one minion under the id of another is refused', async () => {
    const vector = sealed.find((entry) => entry.version === 3 && entry.cmd === '_return')!;
    const master = masterFor(vector);
    const others = Object.keys(vectors.minion_keys).filter((id) => id !== vector.id);
    master.setKey(vector.id, {
      state: 'accepted',
      pub: vectors.minion_keys[others[0]!]!.pub,
      denied: [],
    });
    const reply = await answerOf(master, Buffer.from(vector.request, 'base64'));
    expect(unpack(reply)).toBe('bad load');
    expect(master.counts.get('aes_refused_token')).toBe(1);
    // The return is not taken, but that it was refused is kept.
    expect(master.events.map(({ kind }) => kind)).toEqual(['sighting']);
    const told = unpackMap(master.events[0]!.body);
    expect([told.get('ids'), told.get('kind')]).toEqual([[vector.id], 'refused']);
  });

  it.each(['pending', 'rejected', 'deleted'] as const)(
    'a minion whose key is %s is refused',
    async (state) => {
      const vector = sealed.find((entry) => entry.version === 3)!;
      const master = masterFor(vector);
      const pub = vectors.minion_keys[vector.id]!.pub;
      master.setKey(vector.id, { state, pub, denied: [] });
      const reply = await answerOf(master, Buffer.from(vector.request, 'base64'));
      expect(unpack(reply)).toBe('bad load');
    },
  );

  it('strangers leave no session behind', async () => {
    const vector = sealed.find((entry) => entry.version === 3)!;
    const master = memoryMaster({ masterKey });
    const reply = await answerOf(master, Buffer.from(vector.request, 'base64'));
    expect(unpack(reply)).toBe('bad load');
    expect([...master.sessions.keys()]).toEqual([]);
  });

  it('an older request than request_server_ttl allows is refused', async () => {
    const vector = sealed.find((entry) => entry.version === 3)!;
    const master = masterFor(vector);
    const strict = { ...master.ports, rules: { ...master.ports.rules, requestServerTtl: 30 } };
    const answerer = new Answerer(strict, () => undefined);
    const body = Buffer.from(vector.request, 'base64');
    const answer = await answerer.answer({ id: 'r', body, gatewayHost: 'h' });
    expect(answer.kind === 'reply' && unpack(answer.body)).toBe('bad load');
    expect(master.counts.get('aes_refused_ttl')).toBe(1);
  });
});

describe('odd requests', () => {
  /** Answers that need an authentication backend or carry a fresh job id. */
  const notHere: ReadonlySet<string> = new Set(['runner ok', 'wheel ok']);
  const pub = vectors.minion_keys['va']!.pub;

  it.each(
    vectors.odd.filter((odd) => !notHere.has(odd.name)).map((odd) => [odd.name, odd] as const),
  )('%s gets the answer of the stock master', async (_name, odd) => {
    const master = memoryMaster({
      masterKey,
      aesKeyString: KEY,
      rules: { minimumAuthVersion: 0 },
      userKeys: { root: KEY },
    });
    master.setKey('va', { state: 'accepted', pub, denied: [] });
    const reply = await answerOf(master, Buffer.from(odd.request, 'base64'));
    expect(unpack(reply)).toEqual(unpack(Buffer.from(odd.reply, 'base64')));
  });

  it('every version below the floor is refused, in the clear too', async () => {
    const master = memoryMaster({ masterKey, rules: { minimumAuthVersion: 3 } });
    const low = vectors.requests.find((vector) => vector.version === 2)!;
    expect(unpack(await answerOf(master, Buffer.from(low.request, 'base64')))).toBe('bad load');
    const ping = vectors.odd.find((odd) => odd.name === 'auth version 0')!;
    expect(unpack(await answerOf(master, Buffer.from(ping.request, 'base64')))).toBe('bad load');
  });
});

import { createHash } from 'node:crypto';
import { Crypticle, isEncAlgo, isSigAlgo, PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { bytesOf, mapIn, mapOf, type SaltMap, textOf, unpackMap } from '@brine/wire';
import { parseAuthAnswer } from '@brine/wire/load';
import { describe, expect, it } from 'vitest';
import { answerAuth } from './auth.ts';

interface AuthVector {
  readonly name: string;
  readonly state: string;
  readonly minion_key: string;
  readonly request: string;
  readonly reply: string;
  readonly aes_key?: string;
  readonly session_key?: string;
}
const vectors = vectorFile<{
  readonly master_key: { readonly pem: string };
  readonly minion_keys: Record<string, { readonly pem: string; readonly pub: string }>;
  readonly cases: readonly AuthVector[];
}>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'h' };

function loadOf(vector: AuthVector): { load: SaltMap; version: number } {
  const envelope = unpackMap(Buffer.from(vector.request, 'base64'));
  return { load: mapIn(envelope, 'load')!, version: envelope.get('version') as number };
}

/** A master in the state the recording one was in when it got this request. */
function masterFor(vector: AuthVector): MemoryMaster {
  const { load } = loadOf(vector);
  const id = textOf(load, 'id')!;
  const pub = textOf(load, 'pub')!.trim();
  const master = memoryMaster({
    masterKey,
    rules: vector.state === 'full' ? { maxMinions: 1 } : {},
    ...(vector.aes_key === undefined ? {} : { aesKeyString: vector.aes_key }),
  });
  if (vector.state === 'rejected') master.setKey(id, { state: 'rejected', pub, denied: [] });
  if (vector.state.startsWith('accepted')) {
    master.setKey(id, { state: 'accepted', pub, denied: [] });
  }
  if (vector.state === 'denied') {
    master.setKey(id, { state: 'accepted', pub: 'another key', denied: [] });
  }
  if (vector.state === 'full') {
    for (const other of ['x', 'y']) master.sessions.set(other, new Crypticle(OTHER_KEY));
  }
  if (vector.session_key !== undefined) {
    master.sessions.set(id, new Crypticle(vector.session_key));
  }
  return master;
}
const OTHER_KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc=';

describe('sign-ins recorded from real minions', () => {
  it.each(vectors.cases.map((vector) => [vector.name, vector] as const))(
    '%s: the reply says what the stock master said, signed and bound to the nonce',
    async (_name, vector) => {
      const { load, version } = loadOf(vector);
      const master = masterFor(vector);
      const reply = unpackMap((await answerAuth(master.ports, request, load, version)).body);
      const recorded = unpackMap(Buffer.from(vector.reply, 'base64'));
      const signed = bytesOf(reply, 'load')!;
      const sigAlgo = textOf(load, 'sig_algo') ?? 'PKCS1v15-SHA1';
      expect(
        isSigAlgo(sigAlgo) && masterKey.publicKey.verify(signed, bytesOf(reply, 'sig')!, sigAlgo),
      ).toBe(true);
      const answer = parseAuthAnswer(signed);
      const theirs = parseAuthAnswer(bytesOf(recorded, 'load')!);
      expect(answer.kind).toBe(theirs.kind);
      if (answer.kind === 'verdict' && theirs.kind === 'verdict') {
        expect(answer).toEqual(theirs);
        return;
      }
      if (answer.kind !== 'accept' || theirs.kind !== 'accept') throw new Error('unlike kinds');
      const minion = PrivateKey.parse(vectors.minion_keys[vector.minion_key]!.pem);
      const encAlgo = textOf(load, 'enc_algo') ?? 'OAEP-SHA1';
      if (!isEncAlgo(encAlgo)) throw new Error('unlike algorithms');
      const open = (blob: Uint8Array): string => minion.oaepDecrypt(blob, encAlgo).toString();
      expect(open(answer.accept.aes)).toBe(vector.aes_key);
      expect(open(answer.accept.session)).toBe(vector.session_key);
      expect(answer.accept.nonce).toBe(textOf(load, 'nonce'));
      expect(answer.accept.pubKey).toBe(theirs.accept.pubKey);
      expect(Buffer.from(answer.accept.sig)).toEqual(Buffer.from(theirs.accept.sig));
      const recovered = masterKey.publicKey.x931Recover(answer.accept.sig)?.toString();
      expect(recovered).toBe(createHash('sha256').update(vector.aes_key!).digest('hex'));
      expect(answer.accept.token === undefined).toBe(theirs.accept.token === undefined);
      if (answer.accept.token !== undefined && theirs.accept.token !== undefined) {
        expect(open(answer.accept.token)).toBe(open(theirs.accept.token));
      }
    },
  );

  it.each(['.x', '*', 'a,b', '-rf', ' a', 'a\u202eb', 'e\u0301', 'a/b', ''])(
    'a minion called %j gets no key, not with auto_accept either',
    async (id) => {
      const master = memoryMaster({ masterKey, rules: { autoAccept: true } });
      const vector = vectors.cases.find(({ state }) => state.startsWith('accepted'))!;
      const { load, version } = loadOf(vector);
      const named = new Map(load).set('id', id);
      const answer = await answerAuth(master.ports, request, named, version);
      expect(unpackMap(answer.body).has('aes')).toBe(false);
      expect([...master.ports.keys.all()]).toEqual([]);
    },
  );

  const SIGNS = ['a;b', "a'b", 'a"b', 'a$b', 'a`b', 'a b', 'a(b', 'a|b', 'a&b', '~a', '#a', 'a=b'];
  it.each(SIGNS)('a stranger gets no key as %j, and a minion that has one goes on', async (id) => {
    const vector = vectors.cases.find(({ state }) => state.startsWith('accepted'))!;
    const { load, version } = loadOf(vector);
    const named = new Map(load).set('id', id);
    const come = async (master: MemoryMaster): Promise<boolean> =>
      (await answerAuth(master.ports, request, named, version)).accepted;
    const strict = memoryMaster({ masterKey, rules: { autoAccept: true } });
    expect(await come(strict)).toBe(false);
    expect([...strict.ports.keys.all()]).toEqual([]);
    expect(strict.counts.get('auth_id_signs')).toBe(1);
    strict.setKey(id, { state: 'accepted', pub: textOf(load, 'pub')!.trim(), denied: [] });
    expect(await come(strict)).toBe(true);
    const open = memoryMaster({ masterKey, rules: { autoAccept: true, minionIdSigns: id } });
    expect(await come(open)).toBe(true);
  });

  it('a stranger cannot fill the store of waiting keys', async () => {
    const vector = vectors.cases.find((entry) => entry.state === 'pending')!;
    const master = memoryMaster({ masterKey, rules: { maxPendingKeys: 2 } });
    const { load } = loadOf(vector);
    for (const id of ['a', 'b', 'c', 'd']) {
      await answerAuth(master.ports, request, new Map(load).set('id', id), 3);
    }
    expect(master.ports.keys.pendingCount()).toBe(2);
    expect(master.counts.get('auth_pending_full')).toBe(2);
  });

  it('a lost race for the key record is judged again', async () => {
    const vector = vectors.cases.find((entry) => entry.state === 'pending')!;
    const { load, version } = loadOf(vector);
    const master = memoryMaster({ masterKey });
    const id = textOf(load, 'id')!;
    const pub = textOf(load, 'pub')!.trim();
    let races = 0;
    const { keys } = master.ports;
    const racing = {
      ...master.ports,
      keys: {
        ...keys,
        store: async (...args: Parameters<typeof keys.store>) => {
          // An operator accepts the key between the worker's look and its write.
          if (races++ === 0) master.setKey(id, { state: 'accepted', pub, denied: [] });
          return keys.store(...args);
        },
      },
    };
    const reply = unpackMap((await answerAuth(racing, request, load, version)).body);
    expect(parseAuthAnswer(bytesOf(reply, 'load')!).kind).toBe('accept');
  });

  const GRAINS = mapOf({ role: 'web', rack: ['a', 1] });
  const acts = vectors.cases.filter(
    ({ state }, at, all) => all.findIndex((other) => other.state === state) === at,
  );
  it.each(acts.map((vector) => [vector.state, vector] as const))(
    'an event of a log-in (%s) tells autosign grains where the option names its act',
    async (_state, vector) => {
      const { load, version } = loadOf(vector);
      const told = async (rules: readonly string[] | undefined, grains: SaltMap) => {
        const master = masterFor(vector);
        const { ports } = master;
        if (rules !== undefined) Object.assign(ports.rules, { authEventsAutosignGrains: rules });
        await answerAuth(ports, request, new Map(load).set('autosign_grains', grains), version);
        const event = master.events.find(({ tag }) => tag === 'salt/auth')!;
        return { data: unpackMap(event.body), counts: master.counts };
      };
      const act = textOf((await told(undefined, GRAINS)).data, 'act')!;
      const { data } = await told([act], GRAINS);
      expect(data.get('autosign_grains')).toEqual(GRAINS);
      expect([...data.keys()]).toEqual(['result', 'act', 'id', 'pub', 'autosign_grains']);
      const others = ['accept', 'pend', 'reject', 'denied', 'full'].filter((one) => one !== act);
      for (const rules of [undefined, [], others]) {
        expect((await told(rules, GRAINS)).data.has('autosign_grains')).toBe(false);
      }
      expect((await told([act], mapOf({}))).data.has('autosign_grains')).toBe(false);
      const large = await told([act], mapOf({ role: 'x'.repeat(20_000) }));
      expect(large.data.has('autosign_grains')).toBe(false);
      expect(large.counts.get('auth_event_grains_left_out')).toBe(1);
    },
  );
});

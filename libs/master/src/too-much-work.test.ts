import { Crypticle, minionToken, newKeyString, PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, pack, unpack, unpackMap } from '@brine/wire';
import { aesEnvelope, clearEnvelope } from '@brine/wire/frames';
import { beforeEach, expect, test } from 'vitest';
import { Answerer } from './answer.ts';
import type { RefusedWork } from './ports/ports.ts';
import { TOO_MUCH_WORK } from './too-much-work.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const USER_KEY = 'a'.repeat(64);
const SLOW = '(w|w)*(e|e)*\\1\\2(?:.|.)*z';

function master(): MemoryMaster {
  const rules = { peer: { '.*': ['.*'] }, minimumAuthVersion: 0 };
  const made = memoryMaster({ masterKey, userKeys: { root: USER_KEY }, rules });
  made.setKey('w'.repeat(60), { state: 'accepted', pub: '', denied: [] });
  return made;
}

const told: RefusedWork[] = [];
beforeEach(() => void told.splice(0));

async function answerOf(made: MemoryMaster, body: Buffer): Promise<Buffer> {
  const ports = { ...made.ports, refusedWork: (one: RefusedWork) => void told.push(one) };
  const answerer = new Answerer(ports, (fault) => {
    throw fault instanceof Error ? fault : new Error(String(fault));
  });
  const answer = await answerer.answer({ id: 'r1', body, gatewayHost: 'h', peer: '192.0.2.7' });
  return answer.kind === 'reply' ? Buffer.from(answer.body) : Buffer.alloc(0);
}

test('a publish that takes too much work is answered with a text, and counted', async () => {
  const made = master();
  const load = { cmd: 'publish', fun: 'test.ping', arg: [], tgt: SLOW, tgt_type: 'pcre' };
  const body = clearEnvelope(mapOf({ ...load, ret: '', jid: '', user: 'root', key: USER_KEY }));
  expect(unpackMap(await answerOf(made, body))).toEqual(mapOf({ error: TOO_MUCH_WORK }));
  expect(made.counts.get('refused_work')).toBe(1);
  expect(told).toEqual([{ cmd: 'publish', who: 'root', peer: '192.0.2.7' }]);
  expect(made.jobs).toEqual([]);
});

test('a target of a minion that takes too much work is refused and counted', async () => {
  const made = master();
  const minionKey = await PrivateKey.generate(1024);
  const session = new Crypticle(newKeyString());
  made.setKey('web1', { state: 'accepted', pub: minionKey.publicKey.pem.trim(), denied: [] });
  made.sessions.set('web1', session);
  const load = {
    cmd: 'minion_pub',
    fun: 'test.ping',
    arg: [],
    tgt: SLOW,
    tgt_type: 'pcre',
    ret: '',
  };
  const tok = minionToken(minionKey);
  const sealed = session.seal(pack(mapOf({ ...load, id: 'web1', tok, nonce: 'a'.repeat(32) })));
  const reply = await answerOf(made, aesEnvelope({ id: 'web1', version: 3, load: sealed }));
  expect(session.openReply(unpack(reply) as Uint8Array, 'a'.repeat(32))).toEqual(pack(''));
  expect(told).toEqual([{ cmd: 'minion_pub', who: 'web1', peer: '192.0.2.7' }]);
  expect(made.counts.get('refused_work')).toBe(1);
});

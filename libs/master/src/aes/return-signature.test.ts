import { PrivateKey, type SigAlgo } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import type { MasterRules } from '../ports/ports.ts';
import { takeReturn } from './return.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const minionKey = await PrivateKey.generate(1024);
const strangerKey = await PrivateKey.generate(1024);
const JID = '20261122101112131415';
/** A text of 40 characters is packed differently in the old and the new form of msgpack. */
const RETURN = mapOf({ cmd: '_return', id: 'web1', jid: JID, return: 'x'.repeat(40), fun: 'a.b' });
const CHANNEL = { nonce: 'n', ts: 1, tok: Buffer.alloc(8) };

interface Case {
  readonly rules: Partial<MasterRules>;
  readonly load: SaltMap;
}

async function taken({ rules, load }: Case): Promise<{ taken: boolean; counts: string[] }> {
  const master = memoryMaster({ masterKey, rules });
  const pub = minionKey.publicKey.pem;
  master.setKey('web1', { state: 'accepted', pub, denied: [] });
  const counts: string[] = [];
  const ports = { ...master.ports, count: (name: string) => void counts.push(name) };
  const body = pack(load);
  const about = await takeReturn(ports, { id: 'r1', body, gatewayHost: 'h' }, body);
  const refusals = master.events.filter(({ kind }) => kind === 'sighting');
  const expected =
    counts.some((name) => !name.startsWith('returns')) && about === undefined ? 1 : 0;
  expect(refusals).toHaveLength(expected);
  return { taken: about !== undefined, counts };
}

const with_ = (load: SaltMap, more: Readonly<Record<string, SaltValue>>): SaltMap =>
  new Map([...load, ...Object.entries(more)]);

/** As 3006.26 and 3008.2 do: all but the nonce and the token. */
function signedByChannel(key = minionKey, algorithm: SigAlgo = 'PKCS1v15-SHA1'): SaltMap {
  const sent = with_(RETURN, CHANNEL);
  const sig = key.sign(pack(with_(RETURN, { ts: CHANNEL.ts }), 'bin'), algorithm);
  return with_(sent, { sig });
}

/** As 3007.13 does: before the event bus and the channel add what is theirs. */
function signedByMinion(): SaltMap {
  const sig = minionKey.sign(pack(RETURN, 'bin'), 'PKCS1v15-SHA1');
  return with_(RETURN, { sig, _stamp: '2026-11-22T10:11:12', ...CHANNEL });
}

const REQUIRE = { requireMinionSignMessages: true };
const DROP = { dropMessagesSignatureFail: true };

test.each([
  ['nothing is asked for', {}, with_(RETURN, CHANNEL)],
  ['a wrong one where nothing is asked for', {}, with_(RETURN, { sig: Buffer.alloc(128) })],
  ['signed by the channel', { ...REQUIRE, ...DROP }, signedByChannel()],
  ['with SHA-224', { ...REQUIRE, ...DROP }, signedByChannel(minionKey, 'PKCS1v15-SHA224')],
  ['signed by the minion', { ...REQUIRE, ...DROP }, signedByMinion()],
  ['unsigned where a wrong one is dropped', DROP, with_(RETURN, CHANNEL)],
])('a return is taken: %s', async (_what, rules, load) => {
  expect(await taken({ rules, load })).toEqual({
    taken: true,
    counts: ['returns', 'returns_in_full'],
  });
});

test('a wrong signature is counted and taken where it is only asked for', async () => {
  const wrong = { rules: REQUIRE, load: signedByChannel(strangerKey) };
  const counts = ['return_bad_signature', 'returns', 'returns_in_full'];
  expect(await taken(wrong)).toEqual({ taken: true, counts });
});

test.each([
  ['without one', REQUIRE, with_(RETURN, CHANNEL), 'return_unsigned'],
  ["with another minion's", DROP, signedByChannel(strangerKey), 'return_bad_signature'],
  ['with one that is no bytes', DROP, with_(RETURN, { sig: 7 }), 'return_bad_signature'],
  [
    'whose content was changed',
    DROP,
    with_(signedByChannel(), { return: 'y' }),
    'return_bad_signature',
  ],
])('a return is refused, and that is kept: %s', async (_what, rules, load, count) => {
  expect(await taken({ rules, load })).toEqual({ taken: false, counts: [count] });
});

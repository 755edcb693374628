import { Crypticle, newKeyString, PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { revokeAuth } from './revoke-auth.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);

function masterWith(rules = {}): ReturnType<typeof memoryMaster> {
  const master = memoryMaster({ masterKey, rules });
  for (const id of ['a', 'b']) {
    master.setKey(id, { state: 'accepted', pub: 'PEM', denied: [] });
    master.sessions.set(id, new Crypticle(newKeyString()));
    master.grains.set(id, mapOf({ os: 'x' }));
  }
  return master;
}

it('a minion revokes its own key only; its session and the AES key go with it', async () => {
  const master = masterWith();
  const before = master.ports.aes.current().keyString;
  const load = mapOf({ id: 'b', cmd: 'revoke_auth', tok: 'secret' });
  expect(await revokeAuth(master.ports, 'a', load)).toBe(true);
  expect(master.minionKeys.get('a')?.state).toBe('deleted');
  expect(master.minionKeys.get('b')?.state).toBe('accepted');
  expect(master.sessions.has('a')).toBe(false);
  expect(master.grains.has('a')).toBe(false);
  expect(master.ports.aes.current().keyString).not.toBe(before);
  expect(master.events.map(({ tag }) => tag)).toEqual(['salt/key']);
});

it('grains and pillar of a minion are kept if it or the master says so', async () => {
  const asked = masterWith();
  const load = mapOf({ id: 'a', preserve_minion_cache: true });
  await revokeAuth(asked.ports, 'a', load);
  const ruled = masterWith({ preserveMinionCache: true, rotateAesKey: false });
  const before = ruled.ports.aes.current();
  await revokeAuth(ruled.ports, 'a', mapOf({ id: 'a' }));
  for (const master of [asked, ruled]) expect(master.grains.has('a')).toBe(true);
  expect(ruled.ports.aes.current()).toBe(before);
});

it('where revoking is not allowed the load comes back, as from Salt, without the token', async () => {
  const master = masterWith({ allowMinionKeyRevoke: false });
  const load = mapOf({ id: 'a', cmd: 'revoke_auth', tok: 'secret', nonce: 'n' });
  const answer = await revokeAuth(master.ports, 'a', load);
  expect(answer).toEqual(mapOf({ id: 'a', cmd: 'revoke_auth' }));
  expect(master.minionKeys.get('a')?.state).toBe('accepted');
});

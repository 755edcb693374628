import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, expect, it } from 'vitest';
import { runClearCommand } from '../clear/commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };

let made: MemoryMaster;
beforeEach(() => {
  made = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key' },
    passwords: { anne: 'a', admin: 'b' },
    rules: {
      access: {
        externalAuth: {
          file: {
            anne: ['test.*', { 'web*': ['state.*'] }, { '@runner': ['jobs.*'] }],
            admin: ['.*', '@runner', '@wheel'],
          },
        },
        publisherAcl: {},
        sudoAcl: false,
        permissiveAcl: false,
        keepAclInToken: false,
        tokenExpire: 100,
        tokenExpireUserOverride: false,
        hashType: 'sha256',
      },
    },
  });
  for (const id of ['web1', 'web2', 'db1']) {
    made.setKey(id, { state: 'accepted', pub: 'key', denied: [] });
    made.grains.set(id, mapOf({ id }));
  }
});

async function ask(load: Record<string, SaltValue>): Promise<SaltMap> {
  const { value } = await runClearCommand(made.ports, request, mapOf(load));
  if (!isMap(value)) throw new Error('no map');
  return value;
}

async function rightsOf(username: string, password: string): Promise<SaltMap> {
  const token = await ask({ cmd: 'mk_token', eauth: 'file', username, password });
  return ask({ cmd: 'brine_rights', token: textOf(token, 'token') ?? '' });
}

it('gives the rights of a token, and the minions of their targets', async () => {
  const rights = await rightsOf('anne', 'a');
  expect(rights.get('principal')).toBe('anne');
  expect(rights.get('acl')).toEqual([
    'test.*',
    mapOf({ 'web*': ['state.*'] }),
    mapOf({ '@runner': ['jobs.*'] }),
  ]);
  expect(mapIn(rights, 'reach')).toEqual(mapOf({ 'web*': ['web1', 'web2'] }));
});

it('gives null for all rights, of a user or of the key of root', async () => {
  expect((await rightsOf('admin', 'b')).get('acl')).toBeNull();
  const root = await ask({ cmd: 'brine_rights', user: 'root', key: 'root-key' });
  expect([root.get('principal'), root.get('acl')]).toEqual(['root', null]);
});

it('refuses a stranger', async () => {
  const refused = await ask({ cmd: 'brine_rights', token: '0'.repeat(64) });
  expect(textOf(mapIn(refused, 'error') ?? mapOf({}), 'name')).toBe('TokenAuthenticationError');
});

it('lets a user with few rights revoke its own token, and no other', async () => {
  const own = textOf(
    await ask({ cmd: 'mk_token', eauth: 'file', username: 'anne', password: 'a' }),
    'token',
  );
  const other = textOf(
    await ask({ cmd: 'mk_token', eauth: 'file', username: 'admin', password: 'b' }),
    'token',
  );
  const revoke = (token: string | undefined) =>
    ask({
      cmd: 'brine_query',
      query: 'del_token',
      token: own ?? '',
      args: mapOf({ token: token ?? '' }),
    });
  expect(mapIn(await revoke(other), 'error')).toBeDefined();
  expect((await revoke(own)).get('value')).toBe(true);
  expect(await ask({ cmd: 'get_token', token: own ?? '' })).toEqual(mapOf({}));
  expect((await ask({ cmd: 'get_token', token: other ?? '' })).get('name')).toBe('admin');
});

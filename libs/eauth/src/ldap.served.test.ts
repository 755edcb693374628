import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Ldap, type LdapOptions } from './ldap.ts';

let server: Server;
let connections = 0;
beforeAll(async () => {
  server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

function directory(port = (server.address() as AddressInfo).port): Ldap {
  const options: LdapOptions = {
    url: `ldap://127.0.0.1:${port}`,
    startTls: false,
    verify: true,
    baseDn: 'dc=example',
    bindDn: 'uid={{ username }},dc=example',
    bindPassword: '',
    filter: '',
    scope: 'sub',
    groupOu: '',
    accountAttribute: 'memberUid',
    groupAttribute: 'memberOf',
    personType: 'person',
    groupClass: 'posixGroup',
    activeDirectory: false,
    freeIpa: false,
    groupBaseDn: '',
    groupFilter: '',
  };
  return new Ldap(options);
}

it('asks no directory about a name that could widen a DN or a filter, nor without password', async () => {
  const cases = [
    ['anne', ''],
    ['*', 'x'],
    ['anne)(uid=*', 'x'],
    ['anne,dc=other', 'x'],
    ['an\\6ee', 'x'],
    ['anne\0', 'x'],
    [' anne', 'x'],
    ['', 'x'],
  ] as const;
  for (const [username, password] of cases) {
    const found = await directory().check({ username, password }, AbortSignal.timeout(5_000));
    expect([username, found]).toEqual([username, undefined]);
  }
  expect(connections).toBe(0);
});

it('lives on where a directory sends thousands of short messages at once', async () => {
  const hostile = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(Buffer.from('30050201097300'.repeat(9_000), 'hex'));
  });
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
  const { port } = hostile.address() as AddressInfo;
  const given = { username: 'anne', password: 'x' };
  // An error that is not caught fails the run.
  const asked = directory(port).check(given, AbortSignal.timeout(300));
  await expect(asked).rejects.toThrow('the directory does not answer');
  hostile.close();
});

it('knows a directory that does not answer from one that refuses', async () => {
  const asked = directory().check({ username: 'anne', password: 'x' }, AbortSignal.timeout(5_000));
  await expect(asked).rejects.toThrow('the directory does not answer');
  expect(connections).toBe(1);
});

import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { runClearCommand } from '../clear/commands.ts';
import { MasterUnavailableError } from '../errors.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };

const NAMES = [
  'module cmd.run',
  'module test.ping',
  'runner http.query',
  'runner jobs.active',
  'state pkg.installed',
  'wheel key.list_all',
];

/** Six users beside `root`, and what each sees. */
const USERS: Readonly<Record<string, readonly [rights: SaltValue[], seen: readonly string[]]>> = {
  minions: [[mapOf({ 'web*': ['.*'] })], ['module cmd.run', 'module test.ping', NAMES[4] ?? '']],
  functions: [['test.*'], ['module test.ping']],
  wheels: [[mapOf({ '@wheel': ['key.list_all'] })], ['wheel key.list_all']],
  limited: [
    [mapOf({ '@runner': [mapOf({ 'http.query': mapOf({ args: ['https://a/'] }) })] })],
    ['runner http.query'],
  ],
  site: [['@events'], []],
  none: [[], []],
};

function scene() {
  const asked: SaltMap[] = [];
  const state = { fail: undefined as Error | undefined, fits: 500 };
  const made = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key' },
    passwords: Object.fromEntries(Object.keys(USERS).map((name) => [name, 'p'])),
    knownFunctions: async (question) => {
      asked.push(question);
      if (state.fail !== undefined) throw state.fail;
      const names = listOf(question, 'names');
      if (names === undefined) return mapOf({ names: NAMES, complete: true });
      const rows = names.slice(0, state.fits).map((one) => {
        const [kind = '', name = ''] = pyStr(one).split(' ');
        return mapOf({ kind, name, doc: `doc of ${name}` });
      });
      return mapOf({ rows });
    },
    rules: {
      access: {
        externalAuth: {
          file: Object.fromEntries(Object.entries(USERS).map(([name, [acl]]) => [name, acl])),
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
  const ask = async (user: string, read: string, args: Record<string, SaltValue> = {}) => {
    const who =
      user === 'root'
        ? { user, key: 'root-key' }
        : { eauth: 'file', username: user, password: 'p' };
    const sent = mapOf({ cmd: 'brine_read', read, args: mapOf(args), ...who });
    const { value } = await runClearCommand(made.ports, request, sent);
    return isMap(value) ? value : mapOf({});
  };
  const names = async (user: string, args: Record<string, SaltValue> = {}) => {
    const page = mapIn(await ask(user, 'functions', args), 'value') ?? mapOf({});
    const seen = (listOf(page, 'functions') ?? [])
      .filter(isMap)
      .map((row) => `${textOf(row, 'kind')} ${textOf(row, 'name')}`);
    return { seen, next: page.get('next'), complete: page.get('complete') };
  };
  return { ask, names, asked, state };
}

test.each([['root', NAMES], ...Object.entries(USERS).map(([name, [, seen]]) => [name, seen])])(
  '%s sees the functions that it could call somewhere',
  async (user, seen) => {
    const { ask, names } = scene();
    expect(await names(String(user))).toEqual({ seen, next: null, complete: true });
    for (const one of NAMES) {
      const [kind = '', name = ''] = one.split(' ');
      const { size } = mapIn(await ask(String(user), 'function', { kind, name }), 'value') ?? {};
      expect([one, size !== undefined]).toEqual([one, seen?.includes(one)]);
    }
  },
);

test('documentation is asked for what the reader sees alone', async () => {
  const { ask, names, asked } = scene();
  await names('functions', { names: NAMES, kind: 'module', limit: 1_000 });
  await ask('functions', 'function', { kind: 'wheel', name: 'key.list_all' });
  expect(asked).toEqual([
    mapOf({ kind: 'module', q: null, after: null }),
    mapOf({ names: ['module test.ping'] }),
  ]);
});

test('a page ends where an answer or its limit does', async () => {
  const { names, state } = scene();
  expect(await names('root', { limit: 2 })).toMatchObject({
    seen: NAMES.slice(0, 2),
    next: NAMES[1],
  });
  state.fits = 1;
  expect(await names('root', { limit: 2 })).toMatchObject({
    seen: NAMES.slice(0, 1),
    next: NAMES[0],
  });
});

test('functions are refused in words while no process knows them', async () => {
  const { ask, state } = scene();
  state.fail = new MasterUnavailableError('no answer');
  const error = mapIn(await ask('root', 'functions'), 'error');
  expect(error && textOf(error, 'name')).toBe('SaltReqTimeoutError');
});

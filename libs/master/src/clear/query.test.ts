import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { runClearCommand } from './commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };

/** Users of `external_auth`: one with all rights, and those who lack one of them. */
const USERS = {
  all: ['.*', '@runner', '@wheel'],
  'no wheel': ['.*', '@runner'],
  'no runner': ['.*', '@wheel'],
  'no minion': ['@runner', '@wheel', '@jobs', '@events'],
};

/** A master with these users; `asked` are the questions that came to its job cache. */
function scene() {
  const passwords = Object.fromEntries(Object.keys(USERS).map((name) => [name, 'right']));
  const made = memoryMaster({
    masterKey,
    passwords,
    rules: {
      access: {
        externalAuth: { file: USERS },
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
  const asked: string[] = [];
  const ask = (name: string): Promise<SaltValue> => {
    asked.push(name);
    return Promise.resolve('an answer');
  };
  Object.assign(made.ports, { jobs: { ask } });
  const send = async (load: Readonly<Record<string, SaltValue>>): Promise<SaltMap> => {
    const { value } = await runClearCommand(made.ports, request, mapOf(load));
    if (!isMap(value)) throw new Error('no map');
    return value;
  };
  const queryAs = async (user: string, query: string, args: SaltMap = mapOf({})) => {
    const made = await send({ cmd: 'mk_token', eauth: 'file', username: user, password: 'right' });
    const token = textOf(made, 'token') ?? '';
    return send({ cmd: 'brine_query', query, args, token });
  };
  return { asked, queryAs };
}

const refusalIn = (reply: SaltMap): string | undefined =>
  textOf(mapIn(reply, 'error') ?? mapOf({}), 'name');

describe('a log-in', () => {
  test.each(['list_jobs', 'get_jid', 'quarantine', 'audit_newest'])(
    'with all rights may ask %s',
    async (query) => {
      const { asked, queryAs } = scene();
      expect((await queryAs('all', query)).get('value')).toBe('an answer');
      expect(asked).toEqual([query]);
    },
  );

  test.each([
    ['import', mapOf({ file: 'x', linesBefore: 0 })],
    ['del_token', mapOf({ token: 'ab'.repeat(32) })],
  ])('with all rights may not ask %s, which no runner does', async (query, args) => {
    const { asked, queryAs } = scene();
    expect(refusalIn(await queryAs('all', query, args))).toBe('TokenAuthenticationError');
    expect(asked).toEqual([]);
  });

  test.each(Object.keys(USERS).filter((name) => name !== 'all'))(
    'that has %s right may ask nothing',
    async (user) => {
      const { asked, queryAs } = scene();
      expect(refusalIn(await queryAs(user, 'list_jobs'))).toBe('TokenAuthenticationError');
      expect(asked).toEqual([]);
    },
  );
});

import { mapOf, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { NetapiError } from '../errors.ts';
import { CLIENTS, credentialsOf, lowOf, lowstateOf } from './low.ts';

const TOKEN = 'abc123';
const ENABLED = [...CLIENTS];

/** The status and the text of what a call throws. */
function refusalOf(call: () => unknown): readonly [number, string] | 'none' {
  try {
    call();
    return 'none';
  } catch (error) {
    if (error instanceof NetapiError) return [error.status, error.message];
    throw error;
  }
}

describe('a lowstate', () => {
  test('is a map or a list of maps', () => {
    const chunk = mapOf({ client: 'local' });
    expect(lowstateOf(chunk)).toEqual([chunk]);
    expect(lowstateOf([chunk, chunk])).toEqual([chunk, chunk]);
    expect(lowstateOf([])).toEqual([]);
  });

  test.each([undefined, null, '', 'local', 1, true, mapOf({})] as (SaltValue | undefined)[])(
    '%s is none',
    (data) => {
      expect(refusalOf(() => lowstateOf(data))).toEqual([400, 'Lowstates must be a list']);
    },
  );

  test('has maps alone', () => {
    for (const wrong of [[null], ['local'], [[mapOf({})]], [mapOf({}), 1]] as SaltValue[]) {
      expect(refusalOf(() => lowstateOf(wrong))).toEqual([
        400,
        'Each lowstate must be a dictionary',
      ]);
    }
  });
});

describe('a chunk', () => {
  test('gets the token of the session in place of its own', () => {
    const { chunk } = lowOf(mapOf({ client: 'local', token: 'ff' }), { token: TOKEN }, ENABLED);
    expect(chunk.get('token')).toBe(TOKEN);
  });

  test('keeps the request as it was', () => {
    const given = mapOf({ client: 'local', arg: 'x' });
    lowOf(given, { token: TOKEN }, ENABLED);
    expect(given).toEqual(mapOf({ client: 'local', arg: 'x' }));
  });

  test.each([
    'x',
    '',
    '12 34',
    '0x',
    '_1',
    '1__2',
    '../../etc/passwd',
    5,
    null,
    ['abc'],
  ] as SaltValue[])('with the token %j is refused', (token) => {
    const given = mapOf({ client: 'local', token });
    expect(refusalOf(() => lowOf(given, {}, ENABLED))).toEqual([401, 'Invalid token']);
  });

  test.each(['abc', 'ABC', '0xff', ' ff\n', '1_2'])('with the token %j may call', (token) => {
    expect(refusalOf(() => lowOf(mapOf({ client: 'local', token }), {}, ENABLED))).toBe('none');
  });

  test('without credentials is refused', () => {
    expect(refusalOf(() => lowOf(mapOf({ client: 'local' }), {}, ENABLED))).toEqual([
      401,
      'No authentication credentials given',
    ]);
    expect(refusalOf(() => lowOf(mapOf({ client: 'local', eauth: 'pam' }), {}, ENABLED))).toBe(
      'none',
    );
  });

  test('names one of the clients', () => {
    const wrong: readonly (readonly [SaltValue, string])[] = [
      ['run', 'run'],
      ['__proto__', '__proto__'],
      ['constructor', 'constructor'],
      [null, 'None'],
      [['local'], "['local']"],
      [1, '1'],
    ];
    for (const [client, shown] of wrong) {
      expect(refusalOf(() => lowOf(mapOf({ client }), { token: TOKEN }, ENABLED))).toEqual([
        400,
        `Invalid client specified: '${shown}'`,
      ]);
    }
  });

  test('of a client that is not enabled is refused with the option to set', () => {
    expect(refusalOf(() => lowOf(mapOf({ client: 'wheel' }), { token: TOKEN }, ['local']))).toEqual(
      [
        400,
        "Client disabled: 'wheel'. Add to 'netapi_enable_clients' master config option to enable.",
      ],
    );
  });

  test.each(['ssh', 'destroy'])('of the client %s is refused, even if it is enabled', (client) => {
    const refusal = refusalOf(() => lowOf(mapOf({ client }), { token: TOKEN }, ENABLED));
    expect(refusal[0]).toBe(400);
  });

  test.each(['runner', 'runner_async', 'wheel', 'wheel_async'])(
    'of the client %s without a function is refused',
    (client) => {
      const given = mapOf({ client, token: TOKEN });
      expect(refusalOf(() => lowOf(given, {}, [client]))).toEqual([
        400,
        `${client} takes at least 1 argument (0 given)`,
      ]);
    },
  );

  test('with raw_shell is refused', () => {
    const given = { client: 'local', token: TOKEN, fun: 'test.ping' };
    const refusal = [401, 'Raw shell option not allowed.'];
    expect(refusalOf(() => lowOf(mapOf({ ...given, raw_shell: true }), {}, ENABLED))).toEqual(
      refusal,
    );
    expect(refusalOf(() => lowOf(mapOf({ ...given, raw_shell: '' }), {}, ENABLED))).toBe('none');
  });

  test('has its client replaced where the address has one', () => {
    const given = mapOf({ client: 'wheel' });
    const { client } = lowOf(given, { token: TOKEN, client: 'local_async' }, ENABLED);
    expect(client).toBe('local_async');
  });

  test('has one argument as a list', () => {
    for (const [arg, read] of [
      ['x', ['x']],
      [['x'], ['x']],
      [0, [0]],
      [null, [null]],
    ] as [SaltValue, SaltValue][]) {
      const { chunk } = lowOf(mapOf({ client: 'local', arg }), { token: TOKEN }, ENABLED);
      expect(chunk.get('arg')).toEqual(read);
    }
  });

  test('has four fields that prove who calls', () => {
    const chunk = mapOf({ token: 1, eauth: 2, username: 3, password: 4, fun: 5, client: 6 });
    expect([...credentialsOf(chunk).keys()]).toEqual(['token', 'eauth', 'username', 'password']);
  });
});

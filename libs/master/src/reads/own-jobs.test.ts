import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { runClearCommand } from '../clear/commands.ts';
import { MasterUnavailableError } from '../errors.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const [MINE, OTHER] = ['20261120171037000001', '20261120171037000002'];

/** A job cache in which `anne` began one of two jobs, and how to ask as her. */
async function asAnne(failure?: Error) {
  const asked: SaltMap[] = [];
  const made = memoryMaster({
    masterKey,
    passwords: { anne: 'a' },
    answerQuery: (name, args) => {
      if (isMap(args)) asked.push(args.set('query', name));
      if (failure !== undefined) throw failure;
      return [MINE];
    },
    rules: {
      access: {
        externalAuth: { file: { anne: ['test.*'] } },
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
  const run = async (load: Record<string, SaltValue>): Promise<SaltMap> => {
    const { value } = await runClearCommand(made.ports, request, mapOf(load));
    if (!isMap(value)) throw new Error('no map');
    return value;
  };
  const token = await run({ cmd: 'mk_token', eauth: 'file', username: 'anne', password: 'a' });
  const ask = (jids: SaltValue, given = textOf(token, 'token') ?? '') =>
    run({
      cmd: 'brine_read',
      read: 'own_jobs',
      token: given,
      user: 'bert',
      args: mapOf({ jids, user: 'bert' }),
    });
  return { ask, asked };
}

const errorOf = (answer: SaltMap) => textOf(mapIn(answer, 'error') ?? mapOf({}), 'name');

it('answers for the caller alone, whatever the load names', async () => {
  const { ask, asked } = await asAnne();
  expect(await ask([MINE, OTHER])).toEqual(mapOf({ value: mapOf({ jids: [MINE] }) }));
  expect(asked).toEqual([mapOf({ user: 'anne', jids: [MINE, OTHER], query: 'own' })]);
});

it('refuses a stranger before the job cache is asked', async () => {
  const { ask, asked } = await asAnne();
  expect(errorOf(await ask([MINE], '0'.repeat(64)))).toBe('TokenAuthenticationError');
  expect(asked).toEqual([]);
});

it.each([['no list'], [['no jid']], [Array.from({ length: 501 }, () => MINE)]])(
  'refuses what is no list of up to 500 jobs: %j',
  async (jids) => {
    const { ask, asked } = await asAnne();
    expect(errorOf(await ask(jids as SaltValue))).toBe('SaltInvocationError');
    expect(asked).toEqual([]);
  },
);

it('answers that the job cache is unreachable', async () => {
  const { ask } = await asAnne(new MasterUnavailableError('away'));
  expect(errorOf(await ask([MINE]))).toBe('SaltReqTimeoutError');
});

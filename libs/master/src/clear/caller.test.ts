import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { runClearCommand } from './commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const WRONG = { eauth: 'file', username: 'anne', password: 'wrong' };
const JOB = { fun: 'test.ping', tgt: '*', arg: [], ret: '', jid: '' };

test.each<[string, Record<string, SaltValue>]>([
  ['mk_token', WRONG],
  ['runner', { fun: 'jobs.active', ...WRONG }],
  ['wheel', { fun: 'key.list_all', ...WRONG }],
  ['brine_query', { query: 'list_jobs', ...WRONG }],
  ['brine_events', { args: mapOf({ from: 'now' }), ...WRONG }],
  ['publish', { ...JOB, kwargs: mapOf(WRONG) }],
  ['brine_batch', { ...JOB, batch: mapOf({}), kwargs: mapOf(WRONG) }],
  ['brine_resolve', { ...JOB, kwargs: mapOf(WRONG) }],
])('%s leaves its place in the queue for a login, which gets its address', async (cmd, fields) => {
  const told: string[] = [];
  const made = memoryMaster({
    masterKey,
    rules: {
      access: {
        externalAuth: { file: { anne: ['.*'] } },
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
  Object.assign(made.ports.logins, {
    vouch: async (...asked: string[]) => void told.push(asked.join(' ')),
  });
  const request = {
    id: 'r1',
    body: Buffer.alloc(0),
    gatewayHost: 'host1',
    peer: '192.0.2.1',
    stepAside: () => void told.push('aside'),
  };
  await runClearCommand(made.ports, request, mapOf({ cmd, ...fields }));
  expect(told).toEqual(['aside', 'file anne wrong 192.0.2.1']);
  for (const act of made.audited) expect(act).toMatchObject({ peer: '192.0.2.1' });
  expect(made.audited).toHaveLength(/query|events|resolve/.test(cmd) ? 0 : 1);
});

test('a caller with a key keeps its place in the queue', async () => {
  const made = memoryMaster({ masterKey, userKeys: { root: 'k' } });
  const stepAside = (): never => {
    throw new Error('stepped aside');
  };
  const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1', stepAside };
  const load = mapOf({ cmd: 'wheel', fun: 'key.list_all', user: 'root', key: 'k' });
  const { value } = await runClearCommand(made.ports, request, load);
  expect((value as Map<SaltValue, SaltValue>).has('data')).toBe(true);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import type { Answer } from '@brine/master';
import type { ClearRequest } from '@brine/master/functions';
import { answerLocally } from '@brine/master-ports';
import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { settingsFor } from './function-table.ts';

test('a runner publishes under the name of a caller that is limited', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-functions-'));
  writeFileSync(join(dir, 'master'), 'user: salt\n');
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  rmSync(dir, { recursive: true });
  expect(settingsFor(options, { user: 'anne', caller: mapOf({}) }).user).toBe('anne');
  expect(settingsFor(options, { user: 'root' }).user).toBe('salt');
});

test('what a runner sends is sent as its caller', async () => {
  const callers: unknown[] = [];
  const answer = ({ caller }: ClearRequest): Promise<Answer> => {
    callers.push(caller?.principal);
    return Promise.resolve({ kind: 'reply', body: pack('') });
  };
  const caller = { kind: 'user', user: 'anne', principal: 'anne', acl: [] } as const;
  await answerLocally({ answer }, pack(''), { host: 'h', caller }, () => undefined);
  await answerLocally({ answer }, pack(''), { host: 'h' }, () => undefined);
  expect(callers).toEqual(['anne', undefined]);
});

const ABOUT = { kind: 'publish', jid: '20261126120000123456' } as const;

test('what a runner sends under an id is one request, and anything else a new one', async () => {
  const ids: string[] = [];
  const answer = (request: { readonly id: string }): Promise<Answer> => {
    ids.push(request.id);
    return Promise.resolve({ kind: 'reply', body: pack(''), about: ABOUT });
  };
  const traced: unknown[] = [];
  const send = (more: { readonly id?: string; readonly link?: string }): Promise<Uint8Array> =>
    answerLocally({ answer }, pack(''), { host: 'h', ...more }, (_id, about) => traced.push(about));
  for (const more of [{ id: 'step-1', link: 'x' }, { id: 'step-1' }, {}, {}]) await send(more);
  expect(ids.slice(0, 2)).toEqual(['step-1', 'step-1']);
  expect(new Set(ids).size).toBe(3);
  expect(traced).toEqual([{ ...ABOUT, link: 'x' }, ABOUT, ABOUT, ABOUT]);
});

test('runners in a worker know the nodegroups and the job cache of the master', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-functions-'));
  writeFileSync(
    join(dir, 'master'),
    'ext_job_cache: redis\nnodegroups:\n  web: L@a,b\n  all: [N@web, or, c]\n',
  );
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  rmSync(dir, { recursive: true });
  const { nodegroups, extJobCache } = settingsFor(options, {});
  expect(extJobCache).toBe('redis');
  expect([...(nodegroups ?? [])]).toEqual([
    ['web', 'L@a,b'],
    ['all', ['N@web', 'or', 'c']],
  ]);
});

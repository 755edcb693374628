// What the site has not enabled is refused by name, and /v1/me has what it has.
import { meSchema } from '@brine/api';
import { afterEach, expect, test } from 'vitest';
import { runnerScene } from '../../test/runner-scene.ts';
import { closeScenes } from '../../test/served-scene.ts';

afterEach(closeScenes);

const JOB = { tgt: '*', fun: 'test.ping' };
const BATCH = '/batches/20261129204500123456/pause';

/** Requests, and the clients of which one lets each through; those without a body are read. */
const REQUESTS = [
  ['/jobs', JOB, ['local', 'local_async']],
  ['/jobs', { ...JOB, batch: { size: '1' } }, ['local', 'local_batch']],
  ['/runs', { client: 'runner', fun: 'jobs.active' }, ['runner', 'runner_async']],
  ['/runs', { client: 'wheel', fun: 'key.list_all' }, ['wheel', 'wheel_async']],
  ['/audit/verify', {}, ['runner', 'runner_async']],
  ['/audit', undefined, ['runner']],
  ['/schedule/act', { act: 'run', name: 'x' }, ['runner']],
  [BATCH, {}, ['runner']],
  ['/config', undefined, ['wheel']],
  ['/keys/act', { act: 'delete', ids: ['x'], expect: { count: 0 } }, ['wheel']],
] as const;
const CLIENTS = [...new Set(REQUESTS.flatMap(([, , needs]) => [...needs]))].sort();

test.each([...CLIENTS, undefined])('with %s alone the others are refused', async (client) => {
  const enabled = [...(client === undefined ? [] : [client]), 'ssh', 'local_subset'];
  const { send } = await runnerScene({ enabled });
  const me = meSchema.parse((await send('/me')).json);
  expect(me.clients).toEqual(client === undefined ? [] : [client]);
  for (const [path, body, needs] of REQUESTS) {
    if (needs.some((one) => one === client)) continue;
    const { json } = await send(path, body);
    expect([path, json]).toMatchObject([
      path,
      { code: 'forbidden', detail: expect.stringMatching(/^netapi_enable_clients /) },
    ]);
    for (const one of needs) expect(json['detail']).toContain(one);
  }
});

test.each(REQUESTS)('%s %j is let through by each of its clients', async (path, body, needs) => {
  for (const client of needs) {
    const { send } = await runnerScene({ enabled: [client] });
    expect((await send(path, body)).text).not.toContain('netapi_enable_clients');
  }
});

import { startNats, type TestNats } from '@brine/testing';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askFunctions, serveFunctions } from './known-functions.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startNats({ streams: false });
}, 600_000);
afterAll(() => nats.close());

test('a worker asks the process that knows the functions, and learns that there is none', async () => {
  const [worker, runner] = [await nats.connect('worker-pool'), await nats.connect('runner-pool')];
  const served = serveFunctions(runner, async (question) => mapOf({ question }));
  await runner.flush();
  const question = mapOf({ kind: 'module' });
  expect(await askFunctions(worker, question)).toEqual(mapOf({ question }));
  await served.close();
  await expect(askFunctions(worker, question)).rejects.toMatchObject({
    name: 'MasterUnavailableError',
  });
}, 60_000);

import { createServer } from 'node:http';
import { BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

const RESTART_MS = 300_000;
const TAKEN = 'another program has the port';

let port: number;
let master: BrineMaster;

beforeAll(async () => {
  [port = 0] = await freePorts(1);
  // Another program has the port when the master starts.
  const other = createServer((_request, response) => response.end('other'));
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  try {
    master = await BrineMaster.start({
      netapi_enable_clients: ['local'],
      brine: { http: { port } },
    });
  } finally {
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
  }
}, 240_000);
afterAll(() => master?.close());

/** A request on a connection of its own: its status, or the error. */
async function welcome(): Promise<number | string> {
  try {
    const headers = { connection: 'close', accept: 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    return String((error as { readonly cause?: unknown }).cause ?? error);
  }
}

async function pidOfApi(): Promise<number | undefined> {
  return (await master.services()).find(({ name }) => name === 'http-api')?.pid;
}

test('a master starts without a port that another program has, and takes it later', async () => {
  const { code } = await master.brine('status', []);
  expect(code).toBe(0);
  await until('the port is served', async () => (await welcome()) === 200, { withinMs: 30_000 });
  const log = await master.log();
  expect(log.split('\n').filter((line) => line.includes(TAKEN))).toHaveLength(1);
});

test('requests are answered while the service is replaced', async () => {
  const before = await pidOfApi();
  let ended = false;
  const answers = new Map<number | string, number>();
  const load = async (): Promise<void> => {
    while (!ended) {
      const answer = await welcome();
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  };
  const loads = [load(), load()];
  const { code } = await master.brine('restart', [], RESTART_MS);
  ended = true;
  await Promise.all(loads);
  expect(code).toBe(0);
  expect(await pidOfApi()).not.toBe(before);
  expect([...answers.keys()]).toEqual([200]);
});

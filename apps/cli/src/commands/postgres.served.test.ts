import { makeDatabase, type TestDatabase } from '@brine/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
}, 180_000);
afterAll(() => database.drop());
afterEach(() => vi.unstubAllEnvs());

async function postgres(url: string, ...args: readonly string[]) {
  vi.stubEnv('DATABASE_URL', url);
  let text = '';
  const take = (part: string): void => void (text += part);
  const terminal = { out: take, err: take } as unknown as Terminal;
  const command = ['postgres', ...args, '-c', '/nonexistent'];
  return { code: await runCommandLine('brine', command, terminal), text };
}

test('roles are made as often as asked; wrong arguments and databases are errors', async () => {
  expect(await postgres('', 'roles')).toMatchObject({ code: 64 });
  expect((await postgres(database.url, 'rules')).code).toBe(64);
  for (let time = 0; time < 2; time += 1) {
    const { code, text } = await postgres(database.url, 'roles');
    expect([code, text]).toEqual([0, expect.stringMatching(/^The schema is at \d+; brine_store/)]);
  }
  const gone = new URL(database.url);
  gone.pathname = '/none';
  expect((await postgres(gone.href, 'roles')).code).toBe(1);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@brine/testing/waits';
import pg from 'pg';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ended, postmasterPid } from './orphan.ts';
import { startPostgres } from './start-postgres.ts';

const isRoot = process.getuid?.() === 0;
/** Only a user's case goes as far as making a database. */
const TRIES_TO_ENTER_MS = isRoot ? 20_000 : 60_000;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-pg-'));
  await chmod(dir, 0o755);
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function ask(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const rows = (await client.query({ text, rowMode: 'array' })).rows as unknown[];
  await client.end();
  return rows;
}

test('data and passwords outlive a restart, and those are for their owner only', async () => {
  const first = await startPostgres({ dir });
  await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
  await first.stop();
  expect(await first.closed).toBeUndefined();
  const second = await startPostgres({ dir });
  expect(await ask(second.url, 'SELECT n FROM kept')).toEqual([[7]]);
  for (const name of ['password', 'services-password']) {
    expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
  }
  expect(await ask(second.url, 'SHOW listen_addresses')).toEqual([['127.0.0.1']]);
  const wrong = second.url.replace(/:[^:@]+@/, ':wrong@');
  await expect(ask(wrong, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  await second.stop();
});

test('a killed server comes back on the same port with all commits', async () => {
  const server = await startPostgres({ dir });
  await ask(server.url, 'CREATE TABLE kept AS SELECT 7 AS n');
  const killed = server.pid();
  process.kill(killed, 'SIGKILL');
  await expect.poll(() => server.pid()).not.toBe(killed);
  expect(await ask(server.url, 'SELECT n FROM kept')).toEqual([[7]]);
  await server.stop();
});

test('a server that does not start is tried until it does, and reported once', async () => {
  const logged: string[] = [];
  const pids: number[] = [];
  let failed = 0;
  const server = await startPostgres({
    dir,
    restarts: { firstMs: 1, longestMs: 20 },
    onLog: (line) => (failed += Number(line.startsWith('PostgreSQL ended while it started'))),
    onDown: ({ message }) => logged.push(message.replace(/:.*/s, '')),
    onUp: (pid) => pids.push(pid),
  });
  const control = join(dir, 'data', 'global', 'pg_control');
  await rename(control, `${control}.away`);
  process.kill(server.pid(), 'SIGKILL');
  // It used to give up after 20.
  await until('25 starts have failed', () => expect(failed).toBeGreaterThan(24), {
    withinMs: 90_000,
  });
  await rename(`${control}.away`, control);
  await until('the server runs again', () => expect(pids).toEqual([server.pid()]), {
    withinMs: 30_000,
  });
  expect(logged).toEqual(['PostgreSQL ended', 'PostgreSQL does not start; retrying']);
  expect(await ask(server.url, 'SELECT 1')).toEqual([[1]]);
  await server.stop();
  expect(await server.closed).toBeUndefined();
});

test('a second start in the same directory is refused while the first runs', async () => {
  const server = await startPostgres({ dir });
  await expect(startPostgres({ dir })).rejects.toMatchObject({
    code: 'SALT_JOBCACHE_EMBEDDED',
    message: expect.stringContaining(`in use by process ${process.pid}`) as string,
  });
  await server.stop();
});

/** A process of its own that starts a server here and prints the process id of that. */
function starter() {
  const module = fileURLToPath(new URL('start-postgres.ts', import.meta.url));
  const script = `import { startPostgres } from ${JSON.stringify(module)};
    const server = await startPostgres({ dir: ${JSON.stringify(dir)} });
    process.stdout.write(String(server.pid()));`;
  const options = ['--conditions=source', '--import=tsx', '--input-type=module', '-e', script];
  const child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test('the server ends with the process that started it, its leavings are cleared', async () => {
  const child = starter();
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  const pid = Number(output.toString());
  expect(postmasterPid(join(dir, 'data'))).toBe(pid);
  child.kill('SIGKILL');
  expect(await ended(pid, 15_000)).toBe(true);
  const server = await startPostgres({ dir });
  expect(await ask(server.url, 'SELECT 1')).toEqual([[1]]);
  await server.stop();
});

test('an initdb whose process was killed does not harm the next one', async () => {
  const child = starter();
  const room = await until('initdb has begun', () => roomOfInitdb());
  const [left = 0] = childrenOf(child.pid ?? 0);
  process.kill(left, 'SIGSTOP');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const starting = startPostgres({ dir });
  await until(
    'the next initdb has begun',
    async () => ![undefined, room].includes(await roomOfInitdb()),
  );
  // It finds its files gone, and empties its directory as it fails.
  process.kill(left, 'SIGCONT');
  const server = await starting;
  expect(await ended(left, 15_000)).toBe(true);
  expect(await ask(server.url, 'SELECT 1')).toEqual([[1]]);
  await server.stop();
  expect((await readdir(dir)).filter((name) => name.startsWith('making-'))).toEqual([]);
});

/** The directory in which an initdb has begun, by its name. */
async function roomOfInitdb(): Promise<string | undefined> {
  for (const name of await readdir(dir)) {
    if (existsSync(join(dir, name, 'data', 'PG_VERSION'))) return name;
  }
  return undefined;
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

test('a postmaster.pid whose number belongs to another program does not block', async () => {
  const first = await startPostgres({ dir });
  await first.stop();
  await writeFile(join(dir, 'data', 'postmaster.pid'), `${process.ppid}\n${dir}\n`);
  const second = await startPostgres({ dir });
  expect(await ask(second.url, 'SELECT 1')).toEqual([[1]]);
  await second.stop();
});

test(
  'a directory that the server can not enter is named with what to do',
  async () => {
    const closed = join(dir, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const starting = startPostgres({ dir: join(closed, 'state') });
    if (isRoot) {
      await expect(starting).rejects.toMatchObject({
        code: 'SALT_JOBCACHE_EMBEDDED',
        message: expect.stringContaining(`can not enter ${closed}`) as string,
      });
    } else {
      // A user runs the server itself: what is closed to all others is open to it.
      const server = await starting;
      expect(await ask(server.url, 'SELECT 1')).toEqual([[1]]);
      await server.stop();
    }
  },
  TRIES_TO_ENTER_MS,
);

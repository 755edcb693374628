import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningPostgres, startPostgres } from '@brine/postgres-server';
import pg from 'pg';
import { freePorts } from '../salt/index.ts';
import { superuserUrl } from '../test-postgres.ts';

const SYNC_MS = 120_000;
const POLL_MS = 50;
const STANDBY = 'brine_standby';
/** The error of `cp` for files that PostgreSQL has removed meanwhile; the log restores them. */
const VANISHED = /No such file or directory/;

/** A primary, and a standby that has each commit before it is acknowledged. */
export interface PostgresPair extends AsyncDisposable {
  /** Both hosts, as the store gets them. */
  readonly url: string;
  /** The current primary alone. */
  primaryUrl(): string;
  /** Ends the primary at once and makes the standby the primary. */
  failOver(): Promise<void>;
  /** Makes a standby of the former primary, from a copy of the current one. */
  standByAgain(): Promise<void>;
  close(): Promise<void>;
}

interface Node {
  readonly dir: string;
  readonly port: number;
  server: RunningPostgres | undefined;
}

/** Starts both, with Brine's programs, and waits until the standby is synchronous. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-pair-'));
  // Under root the servers run as another user, which must be able to enter the directory.
  await chmod(dir, 0o755);
  const ports = await freePorts(2);
  const nodes = ports.map((port, n): Node => ({ dir: join(dir, `${n}`), port, server: undefined }));
  let [primary, standby] = nodes as [Node, Node];
  const close = async (): Promise<void> => {
    // The standby first: a primary that stops waits for it.
    await standby.server?.stop();
    await primary.server?.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await start(primary);
    await makeStandby(primary, standby);
  } catch (error) {
    await close();
    throw error;
  }
  const urlOf = ({ server }: Node): string => server?.url ?? '';
  const both = `127.0.0.1:${ports.join(',127.0.0.1:')}`;
  return {
    url: `${urlOf(primary).replace(/@[^/]+/, `@${both}`)}?target_session_attrs=read-write`,
    primaryUrl: () => urlOf(primary),
    failOver: async () => {
      const { server } = primary;
      if (server !== undefined) process.kill(server.pid(), 'SIGKILL');
      await server?.closed;
      primary.server = undefined;
      await withClient(standby, (client) => client.query('SELECT pg_promote(true, 60)'));
      [primary, standby] = [standby, primary];
    },
    standByAgain: () => makeStandby(primary, standby),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function start(node: Node): Promise<void> {
  node.server = await startPostgres({ dir: node.dir, port: node.port, restart: false });
}

/** A copy of the data by PostgreSQL's own rules, which then follows by streaming. */
async function makeStandby(primary: Node, standby: Node): Promise<void> {
  const data = join(standby.dir, 'data');
  await rm(data, { recursive: true, force: true });
  await mkdir(standby.dir, { recursive: true, mode: 0o755 });
  for (const name of ['password', 'services-password']) {
    await copyFile(join(primary.dir, name), join(standby.dir, name));
  }
  const { uid, gid } = await stat(join(primary.dir, 'data'));
  await withClient(primary, async (client) => {
    // No name yet: a primary with an absent synchronous standby acknowledges nothing.
    await client.query("ALTER SYSTEM SET synchronous_standby_names = ''");
    await client.query("ALTER SYSTEM SET wal_keep_size = '1GB'");
    await client.query('SELECT pg_reload_conf()');
    await client.query("SELECT pg_backup_start('standby', true)");
    await copy(join(primary.dir, 'data'), data);
    const { rows } = await client.query<{ labelfile: string }>('SELECT * FROM pg_backup_stop()');
    await writeFile(join(data, 'backup_label'), rows[0]?.labelfile ?? '');
  });
  for (const name of ['postmaster.pid', 'postmaster.opts']) await rm(join(data, name));
  await rm(join(data, 'pg_wal'), { recursive: true });
  await mkdir(join(data, 'pg_wal', 'archive_status'), { recursive: true, mode: 0o700 });
  const url = new URL(await superuserUrl(primary.dir, primary.port));
  const way = {
    host: url.hostname,
    port: url.port,
    user: url.username,
    password: url.password,
    application_name: STANDBY,
  };
  const words = Object.entries(way).map(([name, value]) => `${name}=${value}`);
  await writeFile(
    join(data, 'postgresql.auto.conf'),
    `primary_conninfo = '${words.join(' ')}'\nwal_keep_size = '1GB'\n`,
  );
  await writeFile(join(data, 'standby.signal'), '');
  const made = ['backup_label', 'standby.signal', 'pg_wal', join('pg_wal', 'archive_status')];
  for (const name of made) await chown(join(data, name), uid, gid);
  await start(standby);
  await withClient(primary, async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await client.query('SELECT pg_reload_conf()');
    const until = Date.now() + SYNC_MS;
    for (;;) {
      const text = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
      if ((await client.query(text)).rowCount === 1) return;
      if (Date.now() > until) throw new Error('the standby does not follow');
      await sleep(POLL_MS);
    }
  });
}

function copy(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('cp', ['-a', from, to], (error, _stdout, stderr) => {
      const others = stderr.split('\n').filter((line) => line !== '' && !VANISHED.test(line));
      if (error === null || others.length === 0) resolve();
      else reject(new Error(`cp: ${others[0]}`, { cause: error }));
    });
  });
}

async function withClient<T>(
  { dir, port }: Node,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: await superuserUrl(dir, port) });
  client.on('error', () => undefined); // the running query reports it
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import {
  endPool,
  freePorts,
  type SaltHome,
  type SaltOutput,
  type SaltPorts,
  type SaltProcess,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { drawn } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, run, started, stopBrine } from './both-masters.ts';

/*
 * What swap.deep.test.ts leaves out: each master has directories of its own, the stock master may
 * be of a cluster, and its jobs are in PostgreSQL. A master of 3008 answers only while it hears
 * most of its cluster, so that the one here is of none.
 */
const MASTERS = [
  { version: '3007.13', clusterId: 'alpha' },
  { version: '3008.2', clusterId: undefined },
] as const;
const MINIONS = ['3006.30', '3008.2'] as const;
const IDS = MINIONS.map((version) => `own-${version}`);
const COMMAND_MS = 120_000;
const AS_JSON = ['--out', 'json'];
/** As the documentation of salt/returners/pgjsonb.py has an administrator make them. */
const TABLES = `
CREATE TABLE jids (jid varchar(255) NOT NULL PRIMARY KEY, load jsonb NOT NULL);
CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL,
  "return" jsonb NOT NULL, id varchar(255) NOT NULL, success varchar(10) NOT NULL,
  full_ret jsonb NOT NULL, alter_time timestamptz DEFAULT now());`;

describe.each(drawn('stock masters', MASTERS, 1, ({ version }) => version))(
  'a stock master of $version, cluster $clusterId',
  ({ version, clusterId }) => {
    const isCluster = clusterId !== undefined;
    let sandbox: SaltSandbox;
    let database: TestPostgres;
    let home: SaltHome & SaltPorts;
    let ours: string;
    let stock: SaltProcess;
    let installed: SaltVenv;
    let jid: string;
    let ownJid: string;

    beforeAll(async () => {
      database = await startPostgres();
      sandbox = await SaltSandbox.create();
      // PostgreSQL runs as another user under root, and must reach its directory.
      await chmod(sandbox.dir, 0o711);
      const [clusterPort, poolPort] = await freePorts(2);
      home = await sandbox.master({
        minimum_auth_version: 0,
        gather_job_timeout: 4,
        timeout: 10,
        ...(isCluster && {
          cluster_id: clusterId,
          cluster_pki_dir: join(sandbox.dir, 'shared-pki'),
          // It never comes.
          cluster_peers: ['127.0.0.2'],
          cluster_port: clusterPort,
          cluster_pool_port: poolPort,
        }),
        ...(await stockTables(database)),
      });
      ours = await writeOurs(sandbox, home, clusterId);
      installed = await saltVenv(version);
      stock = await sandbox.startMaster(installed, home);
      for (const one of MINIONS) {
        const minion = await sandbox.minion(`own-${one}`, home.retPort);
        sandbox.startMinion(await saltVenv(one), minion);
      }
    }, 900_000);
    afterAll(async () => {
      await stopBrine(join(ours, 'state'));
      await sandbox?.close();
      await database?.stop();
    });

    it('serves first, and keeps its jobs in PostgreSQL', { timeout: 240_000 }, async () => {
      await until(
        'all minions answer the stock master',
        async () => {
          expect(await pinged()).toEqual(allOf(true));
          return true;
        },
        { withinMs: 180_000 },
      );
      jid = await started(salt('salt', ['*', 'test.echo', 'before', '--async']));
      await until('the stock master has all returns', async () => {
        expect(await lookedUp(jid)).toEqual(allOf('before'));
        return true;
      });
    });

    it('hands over its keys and its jobs', { timeout: 240_000 }, async () => {
      const dry = await brine('migrate', ['from-stock', '--stock', home.configDir, '--dry-run']);
      const breaks = /^breaks: \d+\n(?: {2}.*\n)*/m.exec(dry.stdout)?.[0] ?? '';
      expect(breaks).toMatch(
        isCluster ? /^breaks: 1\n {2}Option 'cluster_peers' / : /^breaks: 0\n/,
      );
      expect(dry.code).toBe(isCluster ? 1 : 0);
      const { code, stdout, stderr } = await brine('migrate', [
        ...['from-stock', '--stock', home.configDir, '--hand-over', '--start'],
      ]);
      expect(code, `${stdout}${stderr}`).toBe(0);
      expect(stdout).toContain('keys: 2 accepted, 0 pending, 0 rejected, 0 denied; 2 added');
      await stock.exited;
      await until('Brine serves', async () => (await brine('status', [])).code === 0, {
        withinMs: 60_000,
      });
      const name = isCluster ? 'cluster.pem' : 'master.pem';
      const own = join(ours, isCluster ? 'shared-pki' : 'pki');
      const pair = await readFile(join(own, name), 'utf8');
      expect(pair).toBe(await readFile(join(stockPki(), name), 'utf8'));
      const answers = await json(brine('salt', ['*', 'test.ping', '--static', ...AS_JSON]));
      expect(answers).toEqual(allOf(true));
      expect(await json(brine('run', ['jobs.lookup_jid', jid, ...AS_JSON]))).toEqual(
        allOf('before'),
      );
      expect((await readdir(join(own, 'minions'))).sort()).toEqual(IDS);
      ownJid = await started(brine('salt', ['*', 'test.echo', 'meanwhile', '--async']));
      await until('Brine has all returns', async () => {
        const found = await json(brine('run', ['jobs.lookup_jid', ownJid, ...AS_JSON]));
        expect(found).toEqual(allOf('meanwhile'));
        return true;
      });
    });

    it('takes over again, with the jobs of both', { timeout: 240_000 }, async () => {
      const { code, stdout, stderr } = await brine('migrate', [
        ...['to-stock', '--stock', home.configDir, '--hand-over', '--release', version],
      ]);
      expect(code, `${stdout}${stderr}`).toBe(0);
      stock = await sandbox.startMaster(await saltVenv(version), home);
      await until(
        'all minions answer the stock master',
        async () => {
          expect(await pinged()).toEqual(allOf(true));
          return true;
        },
        { withinMs: 60_000 },
      );
      expect(await lookedUp(jid)).toEqual(allOf('before'));
      expect(await lookedUp(ownJid)).toEqual(allOf('meanwhile'));
      expect((await readdir(join(stockPki(), 'minions'))).sort()).toEqual(IDS);
    });

    function stockPki(): string {
      return isCluster ? join(sandbox.dir, 'shared-pki') : home.pkiDir;
    }

    async function salt(command: string, args: readonly string[]): Promise<SaltOutput> {
      return sandbox.run(await saltVenv(version), command, home, args, COMMAND_MS);
    }

    function pinged(): Promise<unknown> {
      return json(salt('salt', ['*', 'test.ping', '--static', ...AS_JSON]));
    }

    function lookedUp(id: string): Promise<unknown> {
      return json(salt('salt-run', ['jobs.lookup_jid', id, ...AS_JSON]));
    }

    function brine(command: string, args: readonly string[]): Promise<SaltOutput> {
      return run(sandbox, installed, process.execPath, [BRINE, command, '-c', ours, ...args]);
    }
  },
);

/** The stock master's tables, made; and the options that name them. */
async function stockTables({ url, port }: TestPostgres): Promise<Record<string, unknown>> {
  const { username, password, pathname } = new URL(url);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    await pool.query(TABLES);
  } finally {
    await endPool(pool);
  }
  return {
    master_job_cache: 'pgjsonb',
    'returner.pgjsonb.host': '127.0.0.1',
    'returner.pgjsonb.port': port,
    'returner.pgjsonb.user': decodeURIComponent(username),
    'returner.pgjsonb.pass': decodeURIComponent(password),
    'returner.pgjsonb.db': pathname.slice(1),
  };
}

/** A configuration of Brine with directories of its own; gives its directory. */
async function writeOurs(
  sandbox: SaltSandbox,
  home: SaltPorts,
  clusterId: string | undefined,
): Promise<string> {
  const dir = join(sandbox.dir, 'ours');
  const config = {
    user: userInfo().username,
    interface: '127.0.0.1',
    publish_port: home.publishPort,
    ret_port: home.retPort,
    pki_dir: join(dir, 'pki'),
    cachedir: join(dir, 'cache'),
    sock_dir: join(dir, 'sock'),
    pidfile: join(dir, 'pid'),
    log_file: join(dir, 'log'),
    ...(clusterId !== undefined && {
      cluster_id: clusterId,
      cluster_pki_dir: join(dir, 'shared-pki'),
    }),
    minimum_auth_version: 0,
    brine: { workers: 1, state_dir: join(dir, 'state') },
  };
  await mkdir(dir, { mode: 0o711 });
  await writeFile(join(dir, 'master'), JSON.stringify(config));
  return dir;
}

function allOf(value: unknown): Record<string, unknown> {
  return Object.fromEntries(IDS.map((id) => [id, value]));
}

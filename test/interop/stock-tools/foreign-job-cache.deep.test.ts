import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jobDir } from '@brine/cachedir';
import {
  BrineMaster,
  endPool,
  type SaltHome,
  type SaltProcess,
  type SaltVenv,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import { growsOld } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  asPgjsonbTells,
  countedReturns,
  type Json,
  python,
  returnerOptions,
  stockConfig,
  waitFor,
} from './stock-tools.ts';

const SCRIPT = fileURLToPath(new URL('./pgjsonb.py', import.meta.url));

/** The releases, with the framing of their event sockets and a minion each. */
const RELEASES = [
  { version: '3006.26', framing: 'prefixed', minion: 'old-1' },
  { version: '3008.2', framing: 'bare', minion: 'new-1' },
] as const;
const MINIONS = RELEASES.map(({ minion }) => minion);
const CACHES = ['local_cache', 'pgjsonb'] as const;

describe('the job cache that stock tools share with Brine', () => {
  let postgres: TestPostgres;
  let master: BrineMaster;
  let pool: pg.Pool;
  const venvs = new Map<string, SaltVenv>();
  const homes = new Map<string, SaltHome>();
  const minionHomes = new Map<string, SaltHome>();
  const minions: SaltProcess[] = [];

  beforeAll(async () => {
    for (const { version } of RELEASES) venvs.set(version, await saltVenv(version));
    postgres = await startPostgres();
    pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
    const returner = returnerOptions(postgres.url);
    master = await BrineMaster.start(
      { ...returner, brine: { event_framing: 'bare' } },
      { env: { DATABASE_URL: postgres.url } },
    );
    for (const { version, framing, minion } of RELEASES) {
      for (const cache of CACHES) {
        homes.set(`${version} ${cache}`, await stockConfig(master, version, framing, cache));
      }
      const home = await master.sandbox.minion(minion, master.home.retPort, returner);
      minionHomes.set(minion, home);
      minions.push(master.sandbox.startMinion(venvOf(version), home));
    }
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
  });
  afterAll(async () => {
    await master?.close();
    await endPool(pool);
    await postgres?.stop();
  });

  function venvOf(version: string): SaltVenv {
    const venv = venvs.get(version);
    if (venv === undefined) throw new Error(`no Salt ${version}`);
    return venv;
  }
  function homeOf(version: string, cache: string): SaltHome {
    const home = homes.get(`${version} ${cache}`);
    if (home === undefined) throw new Error(`no configuration of ${version} with ${cache}`);
    return home;
  }

  async function stockRun(version: string, cache: string, args: readonly string[]): Promise<Json> {
    const home = homeOf(version, cache);
    const all = [...args, '--out', 'json'];
    const venv = venvOf(version);
    const { code, stdout, stderr } = await master.sandbox.run(venv, 'salt-run', home, all);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Json;
  }
  async function brineRun(args: readonly string[]): Promise<Json> {
    const { code, stdout, stderr } = await master.brine('run', [...args, '--out', 'json']);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Json;
  }
  /** Publishes a job and waits until all its returns are stored. */
  async function published(args: readonly string[], ids: readonly string[]): Promise<string> {
    const { stdout, stderr } = await master.brine('salt', [...args, '--async']);
    const jid = /(\d{20})/.exec(stdout)?.[1];
    if (jid === undefined) throw new Error(`no jid in ${stdout}${stderr}`);
    await waitFor(`returns of ${jid}`, async () => {
      const { rows } = await pool.query('SELECT FROM brine.returns WHERE jid = $1', [jid]);
      const dir = jobDir({ cachedir: master.home.cacheDir }, jid);
      const written = ids.every((id) => existsSync(join(dir, id, 'return.p')));
      return written && rows.length === ids.length;
    });
    return jid;
  }
  /** Calls Salt's own returner functions in a process of their own. */
  async function pgjsonb(calls: readonly (readonly unknown[])[], options: Json = {}) {
    const home = homeOf('3008.2', 'pgjsonb');
    const args = [SCRIPT, join(home.configDir, 'master'), JSON.stringify(options)];
    const input = calls.map((call) => `${JSON.stringify(call)}\n`).join('');
    const { stdout, stderr } = await python(venvOf('3008.2'), args, input, master.sandbox.env());
    expect(stderr).not.toMatch(/pgjsonb|Traceback/);
    return JSON.parse(stdout) as unknown[];
  }
  const ledgerOf = (jid: string) => countedReturns(pool, jid);

  it('salt-run jobs.* answers as brine run jobs.* does', async () => {
    const asked = ['test.arg', 'grün \u2713', '0x10', 'metadata={"ticket": 7}'];
    const jid = await published(['*', ...asked], MINIONS);
    await published(['new-*', 'cmd.retcode', 'exit 3'], ['new-1']);
    const search = 'search_function=test.arg,cmd.*';
    const ours = {
      jobs: await brineRun(['jobs.list_jobs', search]),
      lookup: await brineRun(['jobs.lookup_jid', jid]),
      job: await brineRun(['jobs.list_job', jid]),
      print: await brineRun(['jobs.print_job', jid]),
    };
    const answer = { args: ['grün \u2713', 16], kwargs: { metadata: { ticket: 7 } } };
    expect(ours.lookup).toMatchObject(Object.fromEntries(MINIONS.map((id) => [id, answer])));
    expect(Object.keys(ours.jobs)).toHaveLength(2);
    for (const { version } of RELEASES) {
      for (const cache of CACHES) {
        const ask = (...args: string[]): Promise<Json> => stockRun(version, cache, args);
        const [jobs, lookup, job, print] = await Promise.all([
          ask('jobs.list_jobs', search),
          ask('jobs.lookup_jid', jid),
          ask('jobs.list_job', jid),
          ask('jobs.print_job', jid),
        ]);
        const told = `${version} with ${cache}`;
        expect(jobs, told).toEqual(ours.jobs);
        expect(lookup, told).toEqual(ours.lookup);
        const seen = cache === 'pgjsonb' ? asPgjsonbTells : (one: Json): Json => one;
        expect(seen(job), told).toEqual(seen(ours.job));
        expect(Object.keys(print), told).toEqual([jid]);
        expect(seen(print[jid] as Json), told).toEqual(seen(ours.print[jid] as Json));
      }
    }
  });

  it('a job that salt-call reports is the same to all', async () => {
    const home = minionHomes.get('new-1');
    if (home === undefined) throw new Error('no minion new-1');
    const args = ['test.version', '--out', 'json'];
    const called = await master.sandbox.run(venvOf('3008.2'), 'salt-call', home, args);
    expect(called.code, called.stderr).toBe(0);
    let jid = '';
    await waitFor('the job of salt-call', async () => {
      const { rows } = await pool.query<{ jid: string }>(
        "SELECT jid FROM brine.jobs WHERE fun = '{test.version}'",
      );
      jid = rows[0]?.jid ?? '';
      return jid !== '';
    });
    const [ours, theirs, foreign] = await Promise.all([
      brineRun(['jobs.list_job', jid]),
      stockRun('3008.2', 'local_cache', ['jobs.list_job', jid]),
      stockRun('3008.2', 'pgjsonb', ['jobs.list_job', jid]),
    ]);
    expect(ours).toMatchObject({ Function: 'test.version', Target: 'new-1', Minions: ['new-1'] });
    expect(theirs).toEqual(ours);
    expect(asPgjsonbTells(foreign)).toEqual(asPgjsonbTells(ours));
  });

  it('salt --return pgjsonb writes no second row and no error', async () => {
    const args = [
      '*',
      'test.echo',
      'both ways',
      '--return',
      'pgjsonb',
      '--out',
      'json',
      '--static',
      ...['-t', '60'],
    ];
    const home = homeOf('3008.2', 'pgjsonb');
    const stock = await master.sandbox.run(venvOf('3008.2'), 'salt', home, args);
    expect(stock.code, stock.stderr).toBe(0);
    const { rows } = await pool.query<{ jid: string }>(
      "SELECT max(jid) AS jid FROM brine.jobs WHERE fun = '{test.echo}'",
    );
    const jid = rows[0]?.jid ?? '';
    // The minions write after their return; the end of a job's process is in their logs.
    const ended = `ProcessPayload(jid=${jid}) cleaned up`;
    for (const minion of minions) {
      await waitFor('the end of the job', async () => (await minion.log()).includes(ended));
    }
    expect(await ledgerOf(jid)).toEqual([...MINIONS].sort().map((id) => ({ id, evidence: 0 })));
    for (const minion of minions) {
      const log = await minion.log();
      expect(log).toContain('LazyLoaded pgjsonb.returner');
      expect(log.split('\n').filter((line) => /pgjsonb: |psycopg2\./.test(line))).toEqual([]);
    }
  });

  it('two relays write the same return, and a different one: one count, one evidence', async () => {
    const jid = '20261122030000000001';
    const ret = { jid, id: 'far-1', fun: 'test.echo', return: 'x', retcode: 0, success: true };
    const load = { jid, fun: 'test.echo', arg: ['x'], tgt: 'far-*', tgt_type: 'glob', user: 'sy' };
    await Promise.all(
      ['one', 'two'].map(() =>
        pgjsonb([
          ['save_load', [jid, load]],
          ['returner', [ret]],
          // A stock master saves the return as the load of each return.
          ['save_load', [jid, ret]],
        ]),
      ),
    );
    expect(await ledgerOf(jid)).toEqual([{ id: 'far-1', evidence: 0 }]);
    const [told, returns] = await pgjsonb([
      ['get_load', [jid]],
      ['get_jid', [jid]],
      ['returner', [{ ...ret, return: 'y' }]],
      ['event_return', [[{ tag: `salt/job/${jid}/ret/far-1${'x'.repeat(300)}`, data: ret }]]],
      ['get_minions', []],
    ]);
    expect(told).toEqual(load);
    expect(returns).toEqual({ 'far-1': ret });
    expect(await ledgerOf(jid)).toEqual([{ id: 'far-1', evidence: 1 }]);
    expect(await brineRun(['jobs.lookup_jid', jid])).toEqual({ 'far-1': 'x' });
    expect((await pool.query('SELECT FROM salt_events')).rowCount).toBe(1);
  });

  it('the purge and the archive of pgjsonb leave nothing half', async () => {
    const count = async (table: string): Promise<number> =>
      (await pool.query(`SELECT FROM ${table}`)).rowCount ?? 0;
    const before = { returns: await count('salt_returns'), events: await count('salt_events') };
    expect(before.returns).toBeGreaterThan(0);
    await growsOld('what pgjsonb keeps for 1 s', 1_100);
    await pgjsonb([['clean_old_jobs', []]], { keep_jobs_seconds: 1, archive_jobs: true });
    expect(await count('salt_returns_archive')).toBe(before.returns);
    expect(await count('salt_events_archive')).toBe(before.events);
    expect(await count('jids_archive')).toBeGreaterThan(0);
    expect(await count('salt_returns')).toBe(0);
    expect(await count('brine.evidence')).toBe(0);
    const jid = await published(['*', 'test.ping'], MINIONS);
    await growsOld('what pgjsonb keeps for 1 s', 1_100);
    await pgjsonb([['clean_old_jobs', []]], { keep_jobs_seconds: 1 });
    expect(await ledgerOf(jid)).toEqual([]);
    expect((await pool.query('SELECT FROM jids WHERE jid = $1', [jid])).rowCount).toBe(0);
  });
});

describe('ext_job_cache: pgjsonb', () => {
  it('the minion writes what it says, the master counts it and keeps no content', async () => {
    await using postgres = await startPostgres();
    const options = { ...returnerOptions(postgres.url), ext_job_cache: 'pgjsonb' };
    await using master = await BrineMaster.start(
      { ...options, brine: { event_framing: 'bare' } },
      { env: { DATABASE_URL: postgres.url } },
    );
    const venv = await saltVenv('3008.2');
    const minion = await master.sandbox.minion('ext-1', master.home.retPort, options);
    await using _minion = master.sandbox.startMinion(venv, minion);
    await master.acceptKeys(['ext-1']);
    await master.waitForMinions(['ext-1']);
    const { stdout } = await master.brine('salt', ['*', 'test.echo', 'kept', '--async']);
    const jid = /(\d{20})/.exec(stdout)?.[1] ?? '';
    const looked = async (): Promise<string> =>
      (await master.brine('run', ['jobs.lookup_jid', jid, '--out', 'json'])).stdout;
    await waitFor('the return', async () => (await looked()).includes('kept'));
    expect(JSON.parse(await looked())).toEqual({ 'ext-1': 'kept' });
    const home = await stockConfig(master, '3008.2', 'bare', 'local_cache');
    const args = ['jobs.lookup_jid', jid, '--out', 'json'];
    const stock = await master.sandbox.run(venv, 'salt-run', home, args);
    expect(JSON.parse(stock.stdout)).toEqual({ 'ext-1': 'kept' });
    const names = await readdir(join(master.home.cacheDir, 'jobs'), { recursive: true });
    expect(names.filter((name) => name.endsWith('.load.p')).length).toBeGreaterThan(0);
    expect(names.filter((name) => name.endsWith('return.p'))).toEqual([]);
    const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
    const { rows } = await pool.query(
      `SELECT incarnation <> '~pgjsonb' AS counted,
         coalesce(position('kept' in encode(raw, 'escape')), 0) AS at
       FROM brine.returns WHERE jid = $1`,
      [jid],
    );
    await endPool(pool);
    expect(rows).toEqual([{ counted: true, at: 0 }]);
  });
});

import { readFile, writeFile } from 'node:fs/promises';
import { JidMaker, type SilenceCause } from '@brine/job';
import { BrineMaster, endPool, startPostgres, type TestPostgres } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { mapOf, type SaltValue } from '@brine/wire';
import { buildReturn } from '@brine/wire/load';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Seconds after which a publication is not sent any more: a stopped publisher lets one expire. */
const NOT_AFTER_S = 4;

/** A simulated minion for each cause: what it does is its name. */
const ACCEPTED = [
  'answers',
  'runs',
  'stops',
  'refused',
  'late',
  'elsewhere',
  'away',
  'again',
  'idle',
  'denied',
  'busy',
  'gone',
  'silent',
  'rejected',
  'deleted',
  'moved',
  'outside',
] as const;
type Name = (typeof ACCEPTED)[number];

let master: BrineMaster;
let postgres: TestPostgres;
let pool: pg.Pool;
const peers = new Map<string, TestPeer>();
const jids = new JidMaker();

beforeAll(async () => {
  postgres = await startPostgres();
  const settings = { env: { DATABASE_URL: postgres.url } };
  master = await BrineMaster.start({ brine: { not_after: NOT_AFTER_S } }, settings);
  pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  await Promise.all(
    [...ACCEPTED, 'pending'].map(async (id) => {
      peers.set(id, await TestPeer.make(id, master.home.retPort));
    }),
  );
  for (const id of ACCEPTED) await peer(id).tryToSignIn();
  await master.acceptKeys(ACCEPTED);
  for (const id of ACCEPTED) await peer(id).tryToSignIn();
});
afterAll(async () => {
  for (const one of peers.values()) one.close();
  await endPool(pool);
  await master?.close();
  await postgres?.stop();
});

function peer(id: string): TestPeer {
  const found = peers.get(id);
  if (found === undefined) throw new Error(`no minion ${id}`);
  return found;
}

/** Publishes as `salt --async` does; gives the jid. */
async function publish(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await master.brine('salt', ['--async', ...args]);
  const jid = /job ID: (\d{20})/.exec(stdout)?.[1];
  if (jid === undefined) throw new Error(`not published: ${stdout}${stderr}`);
  return jid;
}

const toAll = (...ids: readonly string[]): readonly string[] => ['-L', ids.join(','), 'test.ping'];

async function answer(id: string, jid: string, more: Record<string, SaltValue> = {}) {
  const load = buildReturn({
    id,
    jid,
    fun: 'test.ping',
    funArgs: [],
    return: true,
    retcode: 0,
    success: true,
    rest: new Map(),
  });
  await peer(id).send(new Map([...load, ...mapOf(more)]));
}

/** What a minion says to `saltutil.find_job <jid>`. */
function tellFindJob(id: Name, jid: string, runs: boolean): Promise<void> {
  return answer(id, jids.next(Date.now()), {
    fun: 'saltutil.find_job',
    fun_args: [jid],
    return: runs ? mapOf({ jid, pid: 4711 }) : mapOf({}),
  });
}

async function why(jid: string, ...ids: readonly string[]): Promise<Record<string, string>> {
  const args = ids.length === 0 ? [jid] : [jid, ids.join(',')];
  const { stdout } = await master.brine('run', ['jobs.why', ...args, '--out', 'json']);
  const found = JSON.parse(stdout) as Record<string, { cause: string; text: string }>;
  for (const { text } of Object.values(found)) expect(text).not.toBe('');
  return Object.fromEntries(Object.entries(found).map(([id, { cause }]) => [id, cause]));
}

/** Asks until the store has the last events. */
const eventually = (jid: string, expected: Record<string, SilenceCause>): Promise<void> =>
  expect.poll(async () => why(jid, ...Object.keys(expected)), { interval: 500 }).toEqual(expected);

describe('jobs.why names the cause of each silence', () => {
  it('of what the minions themselves told about the job', async () => {
    const jid = await publish(
      ...toAll('answers', 'runs', 'stops', 'refused', 'idle', 'busy', 'again'),
    );
    await answer('answers', jid);
    await tellFindJob('runs', jid, true);
    await tellFindJob('stops', jid, true);
    await tellFindJob('idle', jid, false);
    await answer('busy', jids.next(Date.now()));
    await peer('again').tryToSignIn();
    await peer('refused').send(mapOf({ cmd: '_return', id: 'somebody-else', jid, return: true }));
    await eventually(jid, { stops: 'running' });
    await tellFindJob('stops', jid, false);
    const silent: Record<string, SilenceCause> = {
      again: 'dropped_by_log_in',
      busy: 'unknown',
      idle: 'not_running',
      refused: 'refused',
      runs: 'running',
      stops: 'stopped_running',
    };
    await eventually(jid, { answers: 'returned', ...silent });
    // Without names it tells of the silent ones.
    expect(await why(jid)).toEqual(silent);
  });

  it('of deadlines, and of returns that came another way', async () => {
    const deadline = '--metadata={"brine_deadline": 2}';
    const jid = await publish(deadline, ...toAll('late', 'elsewhere'));
    const full = { id: 'elsewhere', jid, fun: 'test.ping', return: true, retcode: 0 };
    await pool.query(
      `INSERT INTO salt_returns (fun, jid, return, id, success, full_ret)
       VALUES ('test.ping', $1, 'true', 'elsewhere', 'true', $2)`,
      [jid, JSON.stringify(full)],
    );
    const { rows } = await pool.query<{ deadline: Date }>(
      'SELECT deadline_at AS deadline FROM brine.jobs WHERE jid = $1',
      [jid],
    );
    const deadlineMs = rows[0]?.deadline.getTime() ?? 0;
    await expect.poll(() => Date.now() > deadlineMs).toBe(true);
    await answer('late', jid);
    await eventually(jid, { elsewhere: 'returned_elsewhere', late: 'returned_late' });
  });

  it('of keys: pending, rejected, deleted, denied, none', async () => {
    await peer('pending').tryToSignIn();
    const ids = ['rejected', 'deleted', 'denied', 'silent'];
    const jid = await publish(...toAll(...ids, 'pending', 'unheard-of'));
    await master.brine('key', ['-r', 'rejected', '--include-accepted', '-y']);
    await master.brine('key', ['-d', 'deleted', '-y']);
    const impostor = await TestPeer.make('denied', master.home.retPort);
    await impostor.tryToSignIn();
    impostor.close();
    await eventually(jid, {
      deleted: 'key_deleted',
      denied: 'key_denied',
      outside: 'not_targeted',
      pending: 'key_pending',
      rejected: 'key_rejected',
      silent: 'nothing_heard_since',
      'unheard-of': 'key_unknown',
    });
  });

  it('of minions that were gone before, and came back or did not', async () => {
    await publish(...toAll('away', 'gone'));
    const jid = await publish(...toAll('away', 'gone'));
    await peer('away').tryToSignIn();
    await eventually(jid, { away: 'not_connected', gone: 'not_heard_since' });
  });

  it('of grains that are others now', async () => {
    const tell = (role: string): Promise<void> =>
      peer('moved').send(
        mapOf({ cmd: '_pillar', id: 'moved', grains: mapOf({ id: 'moved', role }), ver: '2' }),
      );
    await tell('web');
    const jid = await publish('-G', 'role:web', 'test.ping');
    await eventually(jid, { moved: 'nothing_heard_since' });
    await tell('db');
    await eventually(jid, { moved: 'target_no_longer_matches' });
  });

  it('of a job that expired before it could be sent', async () => {
    const { pid } = (await master.services()).find(({ name }) => name === 'publisher') ?? {};
    if (pid === undefined) throw new Error('no publisher');
    process.kill(pid, 'SIGSTOP');
    let jid: string;
    try {
      jid = await publish(...toAll('answers'));
      const until = Date.now() + (NOT_AFTER_S + 1) * 1000;
      await expect.poll(() => Date.now() > until).toBe(true);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await eventually(jid, { answers: 'expired' });
  });
});

describe('what else can be asked and mended', () => {
  it('salt --why tells the cause below what Salt says', async () => {
    const args = ['-L', 'silent', '-t', '1', 'test.ping'];
    const plain = await master.brine('salt', args);
    const { stdout, code } = await master.brine('salt', ['--why', ...args]);
    const [said, told] = stdout.split('\nWhy:\n');
    const withoutJid = (text = ''): string => text.replaceAll(/\d{20}/g, '<jid>');
    expect(withoutJid(said)).toBe(withoutJid(plain.stdout));
    expect(code).toBe(plain.code);
    expect(told).toMatch(/^ {4}silent: no message since .*: \d+ jobs before it without an answer/);
  });

  it('missing, rerun, at, export and import', async () => {
    const jid = await publish('--metadata={"ticket": 7}', ...toAll('answers', 'idle', 'silent'));
    await answer('answers', jid);
    const run = async (...args: readonly string[]): Promise<unknown> => {
      const { stdout, stderr } = await master.brine('run', [...args, '--out', 'json']);
      return stdout === '' ? stderr : JSON.parse(stdout);
    };
    await expect
      .poll(() => run('jobs.missing', jid))
      .toEqual({ idle: 'waiting', silent: 'waiting' });

    expect(await run('jobs.rerun', jid)).toMatch(/add --missing/);
    const again = await run('jobs.rerun', jid, '--missing');
    expect(await run('jobs.list_job', String(again))).toMatchObject({
      Function: 'test.ping',
      Target: ['idle', 'silent'],
      'Target-type': 'list',
      Metadata: { ticket: 7, rerun_of: jid },
      Minions: ['idle', 'silent'],
    });

    expect(await run('jobs.at', jid, '2020-01-01T00:00:00')).toMatchObject({
      Ledger: 'not published yet',
    });
    expect(await run('jobs.at', jid, new Date().toISOString())).toMatchObject({
      Ledger: { targeted: 3, waiting: 2, returned: 1, failed: 0, late: 0, never: 0 },
      Minions: { answers: 'returned', idle: 'waiting', silent: 'waiting' },
    });

    const file = `${master.sandbox.dir}/jobs.ndjson`;
    expect(await run('jobs.export', jid, `file=${file}`)).toBe(`1 jobs written to ${file}`);
    const answers = async (): Promise<unknown[]> => [
      await run('jobs.list_job', jid),
      await run('jobs.lookup_jid', jid),
      await run('jobs.why', jid),
    ];
    const before = await answers();
    for (const table of ['jobs', 'returns', 'evidence', 'sightings']) {
      await pool.query(`DELETE FROM brine.${table} WHERE jid = $1`, [jid]);
    }
    expect(await run('jobs.missing', jid)).toMatch(/no job with this jid/);
    expect(await run('jobs.import', file)).toMatchObject({ jobs: 1, returns: 1, known: 0 });
    expect(await answers()).toEqual(before);
    expect(await run('jobs.import', file)).toMatchObject({ jobs: 0, returns: 0, known: 2 });
    expect(await answers()).toEqual(before);
    const damaged = `${master.sandbox.dir}/damaged.ndjson`;
    await writeFile(damaged, (await readFile(file, 'utf8')).replace('"failed"', '"fialed"'));
    expect(await run('jobs.import', damaged)).toMatch(/line 3: return without a good "failed"/);
  });
});

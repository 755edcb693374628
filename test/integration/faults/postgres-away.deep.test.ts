import { Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { loadPauses, until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakablePostgres } from './breakable-postgres.ts';

// `BRINE_PG_AWAY_S=600 BRINE_PG_AWAY_MINIONS=1000` is ten minutes at full load.
const AWAY_MS = Number(process.env['BRINE_PG_AWAY_S'] ?? 15) * 1000;
const MINIONS = Number(process.env['BRINE_PG_AWAY_MINIONS'] ?? 200);
const PREFIX = 'away-';
/** The store looks for PostgreSQL every 2 s at the latest; a busy machine needs its time too. */
const LEAST_CATCH_UP_MS = 30_000;
/** Before the outage, and again after it: what the load is like while all is well. */
const STEADY_MS = 4_000;

describe('PostgreSQL is away under load', () => {
  let postgres: BreakablePostgres;
  let master: BrineMaster;
  let swarm: Swarm;

  beforeAll(async () => {
    postgres = await BreakablePostgres.start();
    master = await BrineMaster.start({ brine: { workers: 2, postgres: { url: postgres.url } } });
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: MINIONS,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
    });
    await swarm.connect();
  });
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
    await postgres?.[Symbol.asyncDispose]();
  });

  it('jobs go on, nothing is lost, and the store catches up faster than returns come', async () => {
    const jids: string[] = [];
    const refused: string[] = [];
    let acknowledged = 0;
    let loading = true;
    const load = (async () => {
      const { cacheDir: cachedir } = master.home;
      while (loading) {
        // The same bytes again, seconds after a slow answer, would be the same job.
        const arg = [jids.length + refused.length];
        const job = await swarm.publish({ cachedir, target: `${PREFIX}*`, arg, waitMs: 60_000 });
        // A machine that has no time for it: a command without an answer is no job.
        if (job.jid === undefined) refused.push(job.error ?? '');
        if (job.jid === undefined) continue;
        expect(job).toMatchObject({ targeted: MINIONS, returned: MINIONS });
        acknowledged += job.acknowledged;
        jids.push(job.jid);
      }
    })();
    // What is wrong with the load ends the test at once, not after the outage.
    const pause = (ms: number): Promise<unknown> => Promise.race([loadPauses(ms), load]);
    await pause(STEADY_MS);
    while (jids.length === 0) await pause(200);
    await postgres.stop();
    const stoppedAt = jids.length;
    const stoppedMs = Date.now();
    await pause(2_000);
    const said = await master.brine('run', ['jobs.list_jobs']);
    expect(said.stdout + said.stderr).toContain(
      'The job cache is unreachable: PostgreSQL does not answer',
    );
    expect(said.stdout + said.stderr).toContain('Jobs continue and returns are kept');
    expect(said.code).not.toBe(0);
    await pause(Math.max(0, stoppedMs + AWAY_MS - Date.now()));
    const behind = (jids.length - stoppedAt) * MINIONS;
    // Jobs went on: some every few seconds at least, on any machine.
    expect(behind).toBeGreaterThan(MINIONS);
    const awayMs = Date.now() - stoppedMs;
    await postgres.again();
    const backMs = Date.now();
    const caughtUpMs = await caughtUp(jids, backMs + Math.max(awayMs, LEAST_CATCH_UP_MS));
    loading = false;
    await load;
    // The load went on meanwhile, so reaching its end in less time than it took is catching up.
    const perSecond = Math.round((behind * 1000) / awayMs);
    process.stdout.write(
      `PostgreSQL away ${awayMs} ms: ${behind} returns behind, ${perSecond}/s came, ` +
        `caught up after ${caughtUpMs} ms, ${jids.length} jobs of ${MINIONS}, ` +
        `${acknowledged} returns acknowledged in time, ${refused.length} commands refused\n`,
    );
    expect(acknowledged).toBeGreaterThan(0.99 * jids.length * MINIONS);
    const few = Math.max(2, jids.length / 10);
    expect(refused.length, refused.join('; ')).toBeLessThanOrEqual(few);
    await expect.poll(() => complete(jids), { timeout: 60_000 }).toBe(jids.length);
    // Jobs and returns come by streams of their own: either may be the first to have caught up.
    const all = { jobs: jids.length, returns: jids.length * MINIONS };
    await expect.poll(() => stored(jids), { timeout: 60_000 }).toEqual(all);
    // All is stored before the last piece of work has tried again: an outage ends with that.
    await expect.poll(() => timesSaid('PostgreSQL is back'), { timeout: 60_000 }).toBe(1);
    expect(await timesSaid('PostgreSQL is unreachable')).toBeLessThanOrEqual(8);
  }, 1_800_000);

  async function timesSaid(text: string): Promise<number> {
    return (await master.log()).split(text).length - 1;
  }

  async function stored(jids: readonly string[]): Promise<object | undefined> {
    const { rows } = await postgres.pool.query<{ jobs: number; returns: number }>(
      `SELECT (SELECT count(*)::integer FROM brine.jobs WHERE jid = ANY($1)) AS jobs,
        (SELECT count(*)::integer FROM brine.returns WHERE jid = ANY($1)) AS returns`,
      [jids],
    );
    return rows[0];
  }

  /** Jobs whose every minion is stored. */
  function complete(jids: readonly string[]): Promise<number> {
    return postgres.count(
      `SELECT count(*)::integer AS count FROM (
        SELECT FROM brine.returns WHERE jid = ANY($1)
        GROUP BY jid HAVING count(*) = $2) AS whole`,
      [jids, MINIONS],
    );
  }

  /** Waits until all jobs so far are stored; returns how long that took. */
  async function caughtUp(jids: readonly string[], untilMs: number): Promise<number> {
    const startMs = Date.now();
    const all = async (): Promise<boolean> => {
      const known = jids.length;
      return (await complete(jids)) >= known;
    };
    await until(`all of ${jids.length} jobs are stored`, all, { withinMs: untilMs - startMs });
    return Date.now() - startMs;
  }
});

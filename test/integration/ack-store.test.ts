import { startPostgres, type RunningPostgres } from '@brine/job-cache';
import { Swarm } from '@brine/swarm';
import { BrineMaster, endPool } from '@brine/testing';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINIONS = 100;
const PREFIX = 'strict-';
const AWAY_MS = 8_000;

describe('brine.ack: store', () => {
  let dir: string;
  let server: RunningPostgres;
  let pool: pg.Pool;
  let master: BrineMaster;
  let swarm: Swarm;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'brine-strict-'));
    // As root the server runs as another user, who has to enter the directory.
    await chmod(dir, 0o755);
    server = await startPostgres({ dir });
    pool = new pg.Pool({ connectionString: server.url, max: 2 });
    pool.on('error', () => undefined); // The server goes: that is what this is about.
    const brine = { workers: 2, ack: 'store', postgres: { url: server.url } };
    master = await BrineMaster.start({ brine });
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
    if (pool !== undefined) await endPool(pool);
    await server?.stop();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  });

  async function stored(jid: string): Promise<number> {
    const text = 'SELECT count(*)::integer AS count FROM brine.returns WHERE jid = $1';
    return (await pool.query<{ count: number }>(text, [jid])).rows[0]?.count ?? -1;
  }

  it('a return that was acknowledged is in PostgreSQL at that moment', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { cacheDir: cachedir } = master.home;
      const job = await swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: 30_000 });
      expect(await stored(job.jid ?? '')).toBe(MINIONS);
      expect(job).toMatchObject({ acknowledged: MINIONS, lost: 0 });
    }
  });

  it('while PostgreSQL is away nothing is acknowledged; then all is stored, once', async () => {
    const before = (await swarm.stats()).total.returnsAcknowledged;
    await server.stop();
    const { cacheDir: cachedir } = master.home;
    const following = swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: 60_000 });
    await sleep(AWAY_MS);
    expect((await swarm.stats()).total.returnsAcknowledged).toBe(before);
    server = await startPostgres({ dir, port: server.port });
    const job = await following;
    expect(job).toMatchObject({ targeted: MINIONS, returned: MINIONS });
    await expect.poll(() => stored(job.jid ?? ''), { timeout: 30_000 }).toBe(MINIONS);
  }, 120_000);
});

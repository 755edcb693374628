import { Swarm, type SwarmOptions } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { faultLasts } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakablePostgres } from './breakable-postgres.ts';

const MINIONS = 100;
const AWAY_MS = 8_000;

describe('brine.ack: store', () => {
  let postgres: BreakablePostgres;
  let master: BrineMaster;

  beforeAll(async () => {
    postgres = await BreakablePostgres.start();
    const brine = { workers: 2, ack: 'store', postgres: { url: postgres.url } };
    master = await BrineMaster.start({ brine });
  });
  afterAll(async () => {
    await master?.close();
    await postgres?.[Symbol.asyncDispose]();
  });

  /** Minions of this prefix, all connected. */
  async function connected(
    idPrefix: string,
    more: Pick<SwarmOptions, 'returnTimeoutMs'> = {},
  ): Promise<Swarm> {
    const { retPort, pkiDir } = master.home;
    const minions = { minions: MINIONS, idPrefix, keyPairs: 4, pkiDir };
    const swarm = await Swarm.start({ retPort, ...minions, ...more });
    // A minion that is not connected gets no job and has no row.
    expect(await swarm.connect()).toMatchObject({ answered: MINIONS });
    return swarm;
  }

  function stored(jid: string): Promise<number> {
    const text = 'SELECT count(*)::integer AS count FROM brine.returns WHERE jid = $1';
    return postgres.count(text, [jid]);
  }

  it('a return that was acknowledged is in PostgreSQL at that moment', async () => {
    // A stock minion drops a return after 15 to 30 s, which a busy master may need to answer it.
    await using swarm = await connected('patient-', { returnTimeoutMs: [30_000, 40_000] });
    const { cacheDir: cachedir } = master.home;
    for (let round = 0; round < 3; round += 1) {
      const job = await swarm.publish({ cachedir, target: 'patient-*', waitMs: 90_000 });
      const rows = await stored(job.jid ?? '');
      // The promise comes first: fewer rows alone are returns that were not acknowledged.
      expect(rows).toBeGreaterThanOrEqual(job.acknowledged);
      expect(job).toMatchObject({ reached: MINIONS, acknowledged: MINIONS, lost: 0 });
      expect(rows).toBe(MINIONS);
    }
  });

  it('while PostgreSQL is away nothing is acknowledged; then all is stored, once', async () => {
    await using swarm = await connected('strict-');
    const before = (await swarm.stats()).total.returnsAcknowledged;
    await postgres.stop();
    const { cacheDir: cachedir } = master.home;
    const following = swarm.publish({ cachedir, target: 'strict-*', waitMs: 60_000 });
    await faultLasts(AWAY_MS);
    expect((await swarm.stats()).total.returnsAcknowledged).toBe(before);
    await postgres.again();
    const job = await following;
    expect(job).toMatchObject({ targeted: MINIONS, returned: MINIONS });
    await expect.poll(() => stored(job.jid ?? ''), { timeout: 30_000 }).toBe(MINIONS);
  });
});

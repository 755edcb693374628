import { Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { faultLasts } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakablePostgres } from './breakable-postgres.ts';

const MINIONS = 100;
const PREFIX = 'strict-';
const AWAY_MS = 8_000;

describe('brine.ack: store', () => {
  let postgres: BreakablePostgres;
  let master: BrineMaster;
  let swarm: Swarm;

  beforeAll(async () => {
    postgres = await BreakablePostgres.start();
    const brine = { workers: 2, ack: 'store', postgres: { url: postgres.url } };
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
    await postgres?.[Symbol.asyncDispose]();
  });

  function stored(jid: string): Promise<number> {
    const text = 'SELECT count(*)::integer AS count FROM brine.returns WHERE jid = $1';
    return postgres.count(text, [jid]);
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
    await postgres.stop();
    const { cacheDir: cachedir } = master.home;
    const following = swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: 60_000 });
    await faultLasts(AWAY_MS);
    expect((await swarm.stats()).total.returnsAcknowledged).toBe(before);
    await postgres.again();
    const job = await following;
    expect(job).toMatchObject({ targeted: MINIONS, returned: MINIONS });
    await expect.poll(() => stored(job.jid ?? ''), { timeout: 30_000 }).toBe(MINIONS);
  });
});

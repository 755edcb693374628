import { Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakablePostgres } from './breakable-postgres.ts';

const MINIONS = 20;
const PREFIX = 'full-';
/** Half of it is for EVENTS. */
const STREAM_BYTES = 16 * 1_048_576;
const RETURN_BYTES = 100_000;
/** Twice what EVENTS holds. */
const RETURNS = 160;

describe('the streams are full because PostgreSQL is away', () => {
  let postgres: BreakablePostgres;
  let master: BrineMaster;
  let swarm: Swarm;

  beforeAll(async () => {
    postgres = await BreakablePostgres.start();
    const brine = { workers: 1, stream_bytes: STREAM_BYTES, postgres: { url: postgres.url } };
    master = await BrineMaster.start({ brine });
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: MINIONS,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      returnTimeoutMs: [1_500, 3_000],
    });
    await swarm.connect();
  });
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
    await postgres?.[Symbol.asyncDispose]();
  });

  function publish(): ReturnType<Swarm['publish']> {
    const { cacheDir: cachedir } = master.home;
    return swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: 5_000 });
  }

  it('returns are left unanswered, jobs refused with the reason; it heals by itself', async () => {
    expect(await publish()).toMatchObject({ acknowledged: MINIONS });
    await postgres.stop();
    const storm = await swarm.returns({
      inFlight: 40,
      count: RETURNS,
      returnBytes: RETURN_BYTES,
      durationMs: 60_000,
    });
    expect(storm.answered).toBeGreaterThan(RETURNS / 4);
    expect(storm.timedOut).toBeGreaterThan(RETURNS / 8);
    // No text that would make a minion drop its return.
    expect(storm).toMatchObject({ sent: RETURNS, refused: 0 });
    const refused = await publish();
    expect(refused.jid).toBeUndefined();
    expect(refused.error).toContain('the stream of events is full');
    const said = await master.log();
    expect(said).toMatch(/stream EVENTS is \d+ % full/);

    await postgres.again();
    // What is stored goes from the stream after 30 s; then gateways get rid of what they hold.
    const count = `SELECT count(*)::integer AS count FROM brine.returns
      WHERE octet_length(full_ret::text) > ${RETURN_BYTES / 2}`;
    await expect
      .poll(() => postgres.count(count), { timeout: 110_000, interval: 1_000 })
      .toBe(RETURNS);
    await expect
      .poll(publish, { timeout: 60_000, interval: 2_000 })
      .toMatchObject({ acknowledged: MINIONS });
    // What gateways delivered last is read, and goes after another 30 s.
    await expect
      .poll(() => master.log(), { timeout: 60_000, interval: 1_000 })
      .toContain('stream EVENTS has room again');
  }, 300_000);
});

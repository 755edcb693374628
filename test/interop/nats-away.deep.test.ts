import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster, freePorts, saltVenv, type SaltVersion } from '@brine/testing';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakableNats } from '../integration/breakable-nats.ts';

// With Salt's own times a return is sent for 15 to 30 s; here for 3 to 6 s, so that a short outage
// outlives all three sends. `BRINE_OUTAGE_S=30` takes Salt's times, and 20 stock minions.
const AWAY_S = Number(process.env['BRINE_OUTAGE_S'] ?? 0);
const LONG = AWAY_S > 0;
const AWAY_MS = LONG ? AWAY_S * 1000 : 14_000;
const PER_VERSION = LONG ? 10 : 1;
const STOCK: readonly SaltVersion[] = ['3006.26', '3008.2'];
const STOCK_MINIONS = STOCK.flatMap((version) =>
  Array.from({ length: PER_VERSION }, (_, n) => ({ version, id: `s${version}-${n}` })),
);
const SIMULATED = 100;
const PREFIX = 'sim-';

describe('NATS is away while minions return', () => {
  let nats: BreakableNats;
  let master: BrineMaster;
  let swarm: Swarm;
  let log: string;
  let metricsPort: number;

  beforeAll(async () => {
    const venvs = await Promise.all(STOCK.map((version) => saltVenv(version)));
    nats = await BreakableNats.start();
    [metricsPort = 0] = await freePorts(1);
    master = await BrineMaster.start({
      brine: { workers: 2, nats: { url: nats.url }, metrics: { port: metricsPort } },
    });
    log = join(master.sandbox.dir, 'swarm.jsonl');
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: SIMULATED,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      behaviours: [{ share: 1, delayMs: [2_000, 8_000] }],
      ...(LONG ? {} : { returnTimeoutMs: [1_000, 2_000] as const }),
      log,
    });
    const times = LONG ? {} : { return_retry_timer: 1, return_retry_timer_max: 2 };
    for (const { version, id } of STOCK_MINIONS) {
      const home = await master.sandbox.minion(id, master.home.retPort, times);
      const venv = venvs[STOCK.indexOf(version)];
      if (venv === undefined) throw new Error(`no Salt ${version}`);
      master.sandbox.startMinion(venv, home);
    }
    const ids = STOCK_MINIONS.map(({ id }) => id);
    await master.acceptKeys(ids, 180_000);
    await master.waitForMinions(ids, 240_000);
    await swarm.connect();
  });
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
    await nats?.[Symbol.asyncDispose]();
  });

  it('every return that was sent is stored, and counted once', async () => {
    const ids = STOCK_MINIONS.map(({ id }) => id);
    const args = ['-L', ids.join(','), 'cmd.run', 'sleep 4; echo back', '--async'];
    const { stdout } = await master.brine('salt', args);
    const stockJid = /\d{20}/.exec(stdout)?.[0] ?? '';
    const { cacheDir: cachedir } = master.home;
    const following = swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: AWAY_MS + 20_000 });
    // All have the job then, and no return has come.
    await expect
      .poll(async () => (await events('received')).length, { timeout: 30_000 })
      .not.toBe(0);
    await sleep(300);
    await nats.kill();
    await sleep(AWAY_MS);
    await nats.again();
    const job = await following;

    const returned = await storedIds(stockJid, ids.length);
    expect(returned).toEqual([...ids].sort());
    const wanted = Array.from({ length: SIMULATED }, (_, index) => minionId(PREFIX, index));
    expect(await storedIds(job.jid ?? '', SIMULATED)).toEqual(wanted.sort());
    const sent = await events('sent');
    const tries = sent.filter(({ jid }) => jid === job.jid);
    // Most sent it three times, in vain as far as they know.
    expect(tries.length).toBeGreaterThan(SIMULATED);
    await expectCountedOnce(SIMULATED + ids.length, job.jid ?? '', stockJid);
    const said = await master.log();
    expect(said.split('NATS is away: holding returns')).toHaveLength(2);
    expect(said.split('NATS is back: delivering what was held')).toHaveLength(2);
    const late = LONG ? 1 : SIMULATED / 4;
    expect(await told('brine_gateway_late_total')).toBeGreaterThanOrEqual(late);
    expect(await told('brine_gateway_lost_total')).toBe(0);
  }, 400_000);

  async function events(kind: string): Promise<{ e: string; jid: string; id: string }[]> {
    const text = await readFile(log, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { e: string; jid: string; id: string })
      .filter(({ e }) => e === kind);
  }

  async function storedIds(jid: string, count: number): Promise<string[]> {
    const until = Date.now() + 90_000;
    for (;;) {
      const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
      // The store may still be on its way back to NATS: then there is a text instead.
      const job = (stdout.startsWith('{') ? JSON.parse(stdout) : {}) as {
        readonly Result?: Record<string, unknown>;
      };
      const ids = Object.keys(job.Result ?? {}).sort();
      if (ids.length >= count || Date.now() > until) return ids;
      await sleep(1000);
    }
  }

  /** The store's own count of returns is of rows that were counted: one per minion and job. */
  async function expectCountedOnce(atLeast: number, ...jids: string[]): Promise<void> {
    for (const jid of jids) expect(jid).toMatch(/^\d{20}$/);
    const before = await told('brine_store_rows_total', 'kind="returns"');
    expect(before).toBeGreaterThanOrEqual(atLeast);
    // Nothing that is delivered once more adds to it.
    await sleep(3000);
    expect(await told('brine_store_rows_total', 'kind="returns"')).toBe(before);
  }

  async function told(name: string, label = ''): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    let sum = 0;
    for (const line of (await answer.text()).split('\n')) {
      if (!line.startsWith(`${name}{`) || !line.includes(label)) continue;
      sum += Number(line.split(' ').at(-1));
    }
    return sum;
  }
});

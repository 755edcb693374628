import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster, freePorts, saltVenv, type SaltVersion } from '@brine/testing';
import { faultLasts, until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakableNats } from '../../integration/faults/breakable-nats.ts';

// With Salt's own times a return is sent for 15 to 30 s; here for 3 to 6 s, so that a short outage
// outlives all three sends. `BRINE_OUTAGE_S=30` takes Salt's times, and 20 stock minions.
const AWAY_S = Number(process.env['BRINE_OUTAGE_S'] ?? 0);
const LONG = AWAY_S > 0;
/** The last simulated minion returns after 8 s, and sends for 6 s. */
const AWAY_MS = LONG ? AWAY_S * 1000 : 14_000;
const STORED_MS = 90_000;
const GIVE_UP_MS = 60_000;
const PER_VERSION = LONG ? 10 : 1;
const STOCK: readonly SaltVersion[] = ['3006.26', '3008.2'];
const STOCK_MINIONS = STOCK.flatMap((version) =>
  Array.from({ length: PER_VERSION }, (_, n) => ({ version, id: `s${version}-${n}` })),
);
const STOCK_IDS = STOCK_MINIONS.map(({ id }) => id);
const SIMULATED = 100;
const PREFIX = 'sim-';

interface SwarmEvent {
  readonly e: string;
  readonly jid: string;
  /** Minions that it tells of, where those are several. */
  readonly count?: number;
}

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
    await master.acceptKeys(STOCK_IDS, 180_000);
    await master.waitForMinions(STOCK_IDS, 240_000);
    await swarm.connect();
  });
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
    await nats?.[Symbol.asyncDispose]();
  });

  it('every return that was sent is stored, and counted once', async () => {
    const begun = join(master.home.configDir, 'begun');
    const stockJid = await typed('cmd.run', `echo begun >> ${begun}; sleep 6; echo back`);
    await until('all stock minions run the job', async () =>
      expect((await readFile(begun, 'utf8')).split('\n')).toHaveLength(STOCK_IDS.length + 1),
    );
    const { cacheDir: cachedir } = master.home;
    const following = swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: AWAY_MS + 20_000 });
    // All have the job then, and no return has come.
    await until('all simulated minions have the job', async () => {
      const counts = (await events('received')).map(({ count }) => count ?? 0);
      expect(counts.reduce((sum, one) => sum + one, 0)).toBe(SIMULATED);
      return true;
    });
    await nats.kill();
    if (LONG) await faultLasts(AWAY_MS);
    else await everyoneGaveUp();
    await nats.again();
    const job = await following;

    await stored(stockJid, STOCK_IDS);
    const wanted = Array.from({ length: SIMULATED }, (_, index) => minionId(PREFIX, index));
    await stored(job.jid ?? '', wanted);
    const sent = await events('sent');
    const tries = sent.filter(({ jid }) => jid === job.jid);
    // Most sent it three times, in vain as far as they know.
    expect(tries.length).toBeGreaterThan(SIMULATED);
    await expectCountedOnce(SIMULATED + STOCK_IDS.length, job.jid ?? '', stockJid);
    const said = await master.log();
    expect(said.split('NATS is unreachable: keeping returns')).toHaveLength(2);
    expect(said.split('NATS is back: delivering the kept returns')).toHaveLength(2);
    const late = LONG ? 1 : SIMULATED / 4;
    expect(await told('brine_gateway_late_total')).toBeGreaterThanOrEqual(late);
    expect(await told('brine_gateway_lost_total')).toBe(0);
  }, 400_000);

  async function everyoneGaveUp(): Promise<void> {
    const ended = async () => [...(await events('lost')), ...(await events('acked'))];
    await until(
      'every simulated minion has given up, or was answered before',
      async () => expect(await ended()).toHaveLength(SIMULATED),
      { withinMs: GIVE_UP_MS },
    );
  }

  /** Types a command for the stock minions; gives the job's id. */
  async function typed(...command: readonly string[]): Promise<string> {
    const args = ['-L', STOCK_IDS.join(','), ...command, '--async'];
    const { stdout } = await master.brine('salt', args);
    return /\d{20}/.exec(stdout)?.[0] ?? '';
  }

  async function events(kind: string): Promise<SwarmEvent[]> {
    const text = await readFile(log, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as SwarmEvent)
      .filter(({ e }) => e === kind);
  }

  /** Waits until the returns of these minions are stored, and of no others. */
  async function stored(jid: string, ids: readonly string[]): Promise<void> {
    const check = async (): Promise<true> => {
      const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
      // The store may still be on its way back to NATS: then there is a text instead.
      const job = (stdout.startsWith('{') ? JSON.parse(stdout) : {}) as {
        readonly Result?: Record<string, unknown>;
      };
      expect(Object.keys(job.Result ?? {}).sort()).toEqual([...ids].sort());
      return true;
    };
    await until(`all returns of ${jid} are stored`, check, { withinMs: STORED_MS });
  }

  /** The store's own count of returns is of rows that were counted: one per minion and job. */
  async function expectCountedOnce(atLeast: number, ...jids: string[]): Promise<void> {
    for (const jid of jids) expect(jid).toMatch(/^\d{20}$/);
    const counted = (): Promise<number> => told('brine_store_rows_total', 'kind="returns"');
    const before = await counted();
    expect(before).toBeGreaterThanOrEqual(atLeast);
    // What is delivered once more comes before the returns of a new job, and adds nothing.
    await stored(await typed('test.ping'), STOCK_IDS);
    const after = before + STOCK_IDS.length;
    await until('the new job is counted', async () => (await counted()) >= after);
    expect(await counted()).toBe(after);
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

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { growsOld } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// 1,000 and more with BRINE_DURABLE_MINIONS; the suite has less time.
const MINIONS = Number(process.env['BRINE_DURABLE_MINIONS'] ?? 200);
const THERE = Math.floor(MINIONS / 10);
const PREFIX = 'away-';
const SHORT_TTL_S = 12;
/**
 * A publisher that starts sends jobs younger than this again, for those who were deaf while none
 * was there; who was away and comes back in that time gets them too.
 */
const NOT_AFTER_S = 10;
const PATIENCE = { timeout: 300_000, interval: 1_000 };

/** The rig's own log: what minions got and did, whatever the master says. */
class RigLog {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async lines(): Promise<Record<string, unknown>[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Who ran a job, and when, without those who were there. */
  async ranLate(jid: string): Promise<readonly string[]> {
    const there = new Set(Array.from({ length: THERE }, (_, index) => minionId(PREFIX, index)));
    return (await this.lines())
      .filter((line) => line['e'] === 'sent' && line['jid'] === jid && line['try'] === 1)
      .filter((line) => !there.has(String(line['id'])))
      .map((line) => `${String(line['id'])} at ${new Date(Number(line['t'])).toISOString()}`);
  }

  /** How often each minion ran a job. */
  async runs(jid: string): Promise<ReadonlyMap<string, number>> {
    const runs = new Map<string, number>();
    for (const line of await this.lines()) {
      if (line['e'] !== 'sent' || line['jid'] !== jid || line['try'] !== 1) continue;
      const id = String(line['id']);
      runs.set(id, (runs.get(id) ?? 0) + 1);
    }
    return runs;
  }
}

describe(`${MINIONS} minions of which most are away`, () => {
  let master: BrineMaster;
  let log: RigLog;
  const swarms: Swarm[] = [];
  const jids = { short: '', long: '', plain: '' };
  let publishedMs = 0;
  let killedMs = 0;

  const startSwarm = async (firstIndex: number, minions: number): Promise<Swarm> => {
    const swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions,
      firstIndex,
      processes: minions > 100 ? 2 : 1,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      log: join(master.sandbox.dir, 'swarm.jsonl'),
    });
    swarms.push(swarm);
    await swarm.connect({ inFlight: 16 });
    return swarm;
  };
  const publish = async (...options: string[]): Promise<string> => {
    const args = ['--async', ...options, `${PREFIX}*`, 'test.ping'];
    const { stdout } = await master.brine('salt', args);
    const jid = /\d{20}/.exec(stdout)?.[0];
    if (jid === undefined) throw new Error(stdout);
    return jid;
  };
  const returned = async (jid: string): Promise<number> => {
    const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
    return Object.keys((JSON.parse(stdout) as { Result?: object }).Result ?? {}).length;
  };

  beforeAll(async () => {
    master = await BrineMaster.start({ brine: { not_after: NOT_AFTER_S } });
    log = new RigLog(join(master.sandbox.dir, 'swarm.jsonl'));
    // All were known to the master once, then stopped.
    const all = await startSwarm(0, MINIONS);
    await all.close();
    await startSwarm(0, THERE);
  });
  afterAll(async () => {
    for (const swarm of swarms) await swarm.close();
    await master?.close();
  });

  it('those that are there run durable jobs at once, and once', async () => {
    jids.short = await publish('--durable', `${SHORT_TTL_S}s`);
    jids.long = await publish('--durable', '2h');
    jids.plain = await publish();
    publishedMs = Date.now();
    await expect.poll(() => returned(jids.long), { timeout: 30_000 }).toBe(THERE);
    await growsOld('the short job', SHORT_TTL_S * 1_000);
    expect((await log.runs(jids.long)).size).toBe(THERE);
    const { stdout } = await master.brine('run', ['jobs.active', '--out', 'json', '-t', '5']);
    const active = JSON.parse(stdout) as Record<string, { Durable?: object }>;
    expect(active[jids.long]?.Durable).toMatchObject({
      Targeted: MINIONS,
      Waiting: MINIONS - THERE,
      'Sent again': 0,
    });
  });

  it('those that come back run it once, though services are killed meanwhile', async () => {
    const kill = async (name: string): Promise<void> => {
      const service = (await master.services()).find((one) => one.name.startsWith(name));
      if (service?.pid === undefined) throw new Error(`no ${name}`);
      process.kill(service.pid, 'SIGKILL');
    };
    // Both are over by the clock that publishers go by.
    expect(Date.now() - publishedMs).toBeGreaterThan(SHORT_TTL_S * 1_000);
    killedMs = Date.now();
    await kill('publisher');
    const back = startSwarm(THERE, MINIONS - THERE);
    await kill('job-cache-returner');
    const connected = Date.now();
    await back;
    process.stdout.write(`all logged in after ${Date.now() - connected} ms\n`);
    const started = Date.now();
    await expect.poll(() => returned(jids.long), PATIENCE).toBe(MINIONS);
    process.stdout.write(`all returned ${Date.now() - started} ms later\n`);
    const runs = await log.runs(jids.long);
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    const ids = Array.from({ length: MINIONS }, (_, index) => minionId(PREFIX, index));
    expect([...runs.keys()].sort()).toEqual(ids);
  }, 600_000);

  it('a job whose time is over reaches no minion that was away, nor does a usual one', async () => {
    const killed = new Date(killedMs).toISOString();
    for (const name of ['short', 'plain'] as const) {
      const jid = jids[name];
      const what = `the ${name} job ${jid}; the publisher was killed at ${killed}`;
      expect(await log.ranLate(jid), what).toEqual([]);
      const runs = await log.runs(jid);
      expect(runs.size, what).toBe(THERE);
      expect([...runs.values()].every((count) => count === 1)).toBe(true);
      expect(await returned(jid)).toBe(THERE);
    }
  });

  it('a wish that can not be met is refused with the reason', async () => {
    const { stdout, stderr } = await master.brine('salt', [
      ...['--durable', 'soon', '--async', `${PREFIX}*`, 'test.ping'],
    ]);
    expect(stdout + stderr).toContain('durable takes seconds or a text as 90s');
    const batch = await master.brine('salt', ['--durable', '5m', '-b', '1', '*', 'test.ping']);
    expect(batch).toMatchObject({ code: 64 });
    expect(batch.stderr).toContain('--durable does not go with --batch');
  });
});

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTool } from './run-tool.ts';

const MINIONS = 200;
const PREFIX = 'many-';
const SILENT = 10;
const TWICE = 10;

describe('200 simulated minions at a whole master', () => {
  let master: BrineMaster;
  let swarm: Swarm;
  let log: string;

  beforeAll(async () => {
    master = await BrineMaster.start();
    log = join(master.sandbox.dir, 'swarm.jsonl');
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: MINIONS,
      processes: 2,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      behaviours: [
        { share: SILENT / MINIONS, answer: 'never' },
        { share: TWICE / MINIONS, answer: 'twice' },
      ],
      log,
    });
  });
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
  });

  const answering = MINIONS - SILENT;
  const silentIds = Array.from({ length: SILENT }, (_, index) => minionId(PREFIX, index));
  const lines = async (): Promise<Record<string, unknown>[]> =>
    (await readFile(log, 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('log in: their keys were accepted beforehand', async () => {
    const result = await swarm.connect();
    expect(result).toMatchObject({ sent: MINIONS, answered: MINIONS, refused: 0, timedOut: 0 });
    const stats = await swarm.stats();
    expect(stats.processes).toHaveLength(2);
    expect(stats.total).toMatchObject({ connected: MINIONS, badReplies: 0 });
  });

  it('answer a job to all, but for the silent ones; who answers twice counts once', async () => {
    const { cacheDir: cachedir } = master.home;
    const job = await swarm.publish({ cachedir, target: `${PREFIX}*`, waitMs: 30_000 });
    expect(job).toMatchObject({
      targeted: MINIONS,
      reached: MINIONS,
      returned: answering,
      acknowledged: answering,
      lost: 0,
      resends: 0,
    });
    expect(job.lastAckMs).toBeGreaterThanOrEqual(job.p50);
    expect((await swarm.stats()).total.returnsAcknowledged).toBe(answering + TWICE);

    const jid = job.jid ?? '';
    let stored: string[] = [];
    await expect
      .poll(async () => {
        const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
        stored = Object.keys((JSON.parse(stdout) as { Result?: object }).Result ?? {});
        return stored.length;
      })
      .toBe(answering);
    for (const id of silentIds) expect(stored).not.toContain(id);

    // What the rig wrote down is what the master keeps.
    const of = async (e: string) =>
      (await lines()).filter((line) => line['e'] === e && line['jid'] === jid);
    await expect.poll(async () => (await of('acked')).length).toBe(answering + TWICE);
    const acked = new Set((await of('acked')).map((line) => String(line['id'])));
    expect([...acked].sort()).toEqual(stored.sort());
    const received = await of('received');
    expect(received.reduce((sum, line) => sum + Number(line['count']), 0)).toBe(MINIONS);
    expect(await of('sent')).toHaveLength(answering + TWICE);
  });

  it('a target of a few reaches all and is for these', async () => {
    const { cacheDir: cachedir } = master.home;
    const target = [minionId(PREFIX, 50), minionId(PREFIX, 199)];
    const job = await swarm.publish({ cachedir, target, fun: 'test.echo', arg: ['hé'] });
    expect(job).toMatchObject({ targeted: 2, reached: 2, acknowledged: 2 });
    const args = ['jobs.lookup_jid', job.jid ?? '', '--out', 'json'];
    // Acknowledged is what is in the stream; the store takes it from there.
    await expect
      .poll(async () => JSON.parse((await master.brine('run', args)).stdout) as object)
      .toEqual({ [target[0] ?? '']: 'hé', [target[1] ?? '']: 'hé' });
  });

  it('a publish that is refused says why', async () => {
    const { cacheDir: cachedir } = master.home;
    const job = await swarm.publish({ cachedir, target: 'nobody*' });
    expect(job).toMatchObject({ jid: undefined, targeted: 0 });
    expect(job.error).toMatch(/could not resolve minions/i);
  });

  it('storms of returns, events and log-ins are answered, each request', async () => {
    for (const storm of [
      () => swarm.returns({ inFlight: 16, count: 300 }),
      () => swarm.events({ inFlight: 16, count: 300 }),
      () => swarm.logIn({ inFlight: 8, count: 60 }),
      () => swarm.returns({ inFlight: 50, ratePerSecond: 200, durationMs: 1_000 }),
    ]) {
      const result = await storm();
      expect(result.sent).toBeGreaterThan(50);
      expect(result).toMatchObject({ answered: result.sent, refused: 0, timedOut: 0, resent: 0 });
      expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms);
    }
    expect((await swarm.stats()).total).toMatchObject({ badReplies: 0, badPublications: 0 });
  });

  it('come from the command line too, with a scenario and results as JSON', async () => {
    const scenario = join(master.sandbox.dir, 'scenario.yaml');
    await writeFile(
      scenario,
      '- {ids: cli-00000, delayMs: 300}\n- {ids: cli-00001, answer: never}\n',
    );
    const minions = ['-n', '5', '--prefix', 'cli-', '--key-pairs', '4', '--pre-accept'];
    const how = ['--scenario', scenario, '--target', 'cli-*', '--wait', '3', '--json'];
    const steps = ['connect', 'publish'];
    const config = ['-c', master.home.configDir];
    const { code, stdout, stderr } = await runTool('swarm', [
      ...config,
      ...minions,
      ...how,
      ...steps,
    ]);
    // One is silent: not complete.
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const { results } = JSON.parse(stdout) as { results: unknown[] };
    expect(results).toMatchObject([
      { step: 'connect', load: { sent: 5, answered: 5 } },
      { step: 'publish', job: { targeted: 5, reached: 5, acknowledged: 4 } },
    ]);
  });
});

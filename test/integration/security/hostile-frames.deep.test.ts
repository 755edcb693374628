import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS } from '@brine/bus/rpc';
import { loadMasterConfig } from '@brine/config';
import { checkLedger, databaseUrlOf, type LedgerReport } from '@brine/ledger-check';
import { Swarm } from '@brine/swarm';
import { BrineMaster, freePorts, mutated, randomFrom, seedFrames, ZmtpPeer } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { loadPauses, until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** How many mutated frames. */
const FRAMES_MAX = 1_000_000;
const USUAL = sized({ change: 5_000, release: 20_000, nightly: FRAMES_MAX });
const FRAMES = Math.min(Number(process.env['BRINE_FUZZ_FRAMES'] ?? USUAL), FRAMES_MAX);
const SEED = Number(process.env['BRINE_FUZZ_SEED'] ?? 1);
const PEERS = 32;

/** A gateway answers whatever is in the clear within this, if only with a text. */
const ANSWER_WITHIN_MS = LIMITS.command.waitsMs + 5_000;

/** What the services together may grow by in the second half of the frames. */
const GROWTH_MAX = 0.25;

const MINIONS = 40;
/** Between two jobs: the minions are good ones beside the storm, and no storm of their own. */
const JOB_EVERY_MS = 250;
const STORED_WITHIN_MS = 60_000;

let master: BrineMaster;
let swarm: Swarm;
let log: string;
let metricsPort: number;

beforeAll(async () => {
  // Every key that a frame offers may wait for a decision; the good minions' are accepted.
  [metricsPort = 0] = await freePorts(1);
  const brine = { workers: 2, metrics: { port: metricsPort } };
  master = await BrineMaster.start({ minimum_auth_version: 0, brine });
  log = join(master.sandbox.dir, 'swarm.jsonl');
  const { retPort, pkiDir } = master.home;
  swarm = await Swarm.start({ retPort, pkiDir, minions: MINIONS, keyPairs: 4, log });
  await swarm.connect();
});
afterAll(async () => {
  await swarm?.close();
  await master?.close();
});

it('a whole master stands mutated frames, and loses no job and no return meanwhile', async () => {
  const seeds = seedFrames();
  const random = randomFrom(SEED);
  const outcome = { answered: 0, closed: 0, unfinished: 0, silent: 0 };
  const unheard: string[] = [];
  let left = FRAMES;
  let halfway: Promise<Map<string, number>> | undefined;

  const hostile = async (): Promise<void> => {
    let peer = await ZmtpPeer.open({ port: master.home.retPort });
    while (left > 0) {
      left -= 1;
      if (left === Math.floor(FRAMES / 2)) halfway = memoryOf(master);
      const { bytes, whole } = mutated(seeds, random);
      try {
        if (whole) {
          await peer.request(bytes, ANSWER_WITHIN_MS);
          outcome.answered += 1;
        } else {
          peer.raw(bytes);
          // Broken framing may announce bytes that never come: the other side then rightly waits,
          // until this side hangs up. Such frames are counted apart, not as answered.
          const heard = await peer.receive(20).then(
            () => 'answered' as const,
            () => (peer.closed ? ('closed' as const) : ('unfinished' as const)),
          );
          outcome[heard] += 1;
          peer.close();
        }
      } catch (error) {
        outcome[peer.closed ? 'closed' : 'silent'] += 1;
        if (!peer.closed) unheard.push(`${String(error)}: ${bytes.toString('latin1', 0, 120)}`);
        // The answer could still come, and be taken for that of the next frame.
        peer.close();
      }
      if (peer.closed) peer = await ZmtpPeer.open({ port: master.home.retPort });
    }
    peer.close();
  };

  let done = false;
  let jobs = 0;
  const good = async (): Promise<void> => {
    while (!done) {
      const { cacheDir: cachedir } = master.home;
      const job = await swarm.publish({ cachedir, target: '*', waitMs: STORED_WITHIN_MS });
      expect(job).toMatchObject({ targeted: MINIONS, acknowledged: MINIONS, lost: 0 });
      jobs += 1;
      await loadPauses(JOB_EVERY_MS);
    }
  };
  const serving = good();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: PEERS }, () => hostile()));
  const seconds = (performance.now() - startedAt) / 1000;
  done = true;
  await serving;

  const [before, after] = [await halfway, await memoryOf(master)];
  const total = (memory: Map<string, number> | undefined): number =>
    [...(memory ?? new Map<string, number>()).values()].reduce((sum, one) => sum + one, 0);
  process.stdout.write(
    `${FRAMES} frames in ${seconds.toFixed(0)} s: ${JSON.stringify(outcome)}; ` +
      `${jobs} jobs for ${MINIONS} minions; ` +
      `memory of the services ${total(before)} MB, then ${total(after)} MB\n`,
  );
  expect(Object.values(outcome).reduce((sum, one) => sum + one, 0)).toBe(FRAMES);
  // A whole message is answered or its connection closed, unless the gateway says why it was not.
  expect(outcome.silent, unheard.join('\n')).toBeLessThanOrEqual(await leftUnanswered());
  expect(total(before)).toBeGreaterThan(0);
  expect(total(after)).toBeLessThan(total(before) * (1 + GROWTH_MAX));
  for (const service of await master.services()) expect(service.ready).toBe(true);
  // The books after a last job, behind all that the strangers caused.
  const report = await booksAtRest();
  const { stored, acknowledged } = report.figures;
  expect(report.differences).toEqual([]);
  expect({ stored, acknowledged }).toEqual({
    stored: jobs * MINIONS,
    acknowledged: jobs * MINIONS,
  });
}, 3_600_000);

/** The ledger beside what the minions wrote down, once all that was acknowledged is stored. */
async function booksAtRest(): Promise<LedgerReport> {
  const { options } = loadMasterConfig({ configDir: master.home.configDir });
  const databaseUrl = await databaseUrlOf(options);
  const whole = async (): Promise<LedgerReport> => {
    const report = await checkLedger({ databaseUrl, logs: [log], fresh: true });
    expect(report).toMatchObject({ ok: true });
    return report;
  };
  return until('the ledger has no difference', whole, { withinMs: STORED_WITHIN_MS });
}

/** Requests that a busy gateway left unanswered on purpose: peers of Salt's ask again then. */
async function leftUnanswered(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const lines = (await answer.text()).split('\n');
  return ['auth_silent', 'rested', 'stalled', 'late', 'lost'].reduce((sum, name) => {
    const samples = lines.filter((line) => line.startsWith(`brine_gateway_${name}_total`));
    expect(samples.length, name).toBeGreaterThan(0);
    return sum + samples.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
  }, 0);
}

/** Resident memory of each service, in MB; a service that died has another pid. */
async function memoryOf(master: BrineMaster): Promise<Map<string, number>> {
  const memory = new Map<string, number>();
  for (const { name, pid } of await master.services()) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
    memory.set(`${name} ${pid}`, Math.round(kilobytes / 1024));
  }
  return memory;
}

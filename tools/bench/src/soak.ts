// `npm run soak`: mixed jobs for an hour or a day, and whether anything grows; see ../README.md.
import { appendFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Releasers } from '@brine/service';
import type { LoadResult } from '@brine/swarm';
import { decimal, drawOptions, type Given, readOptions, runTool } from '@brine/swarm/options';
import { text, whole } from '@brine/swarm/options';
import { Fleet } from './load/fleet.ts';
import { BrineUnderTest } from './masters/brine.ts';
import { pause } from './measure/watch.ts';
import { judgeSoak, type SoakSample } from './soak/samples.ts';
import { SizeWatch } from './soak/size-watch.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MINUTE_MS = 60_000;
const JOB_WAIT_MS = 30_000;
/** Part of the minions whose returns are big, and how big. */
const BIG_SHARE = 0.02;
const BIG_BYTES = 64 * 1024;
/** Pauses between jobs: the machine is busy, not full. */
const BETWEEN_JOBS_MS = 1_500;
/** In every round of this many jobs there is one batch of small jobs, events and log-ins. */
const ROUND = 5;
const BATCH_MINIONS = 10;
const BATCH_JOBS = 10;

const OPTIONS = {
  minutes: decimal('<n>', 'how long', [1, 20_160, 60]),
  minions: whole('<n>', 'simulated ones', [1, 100_000, 2_000]),
  samples: text('<file>', 'one JSON line per minute'),
};
const USAGE = `npm run soak -- [options]    mixed jobs at a Brine master, and what grows

${drawOptions(OPTIONS)}`;

async function main(words: readonly string[]): Promise<number> {
  const { text: verdict, passed } = judgeSoak(await soak(readOptions(words, OPTIONS)));
  process.stdout.write(`${verdict}\n`);
  return passed ? 0 : 1;
}

/** Counts of the minute that runs. */
class Minute {
  pingP99Ms: number[] = [];
  jobs = 0;
  targeted = 0;
  acknowledged = 0;
  resends = 0;
  failures = 0;

  failed({ refused, timedOut }: LoadResult): void {
    this.failures += refused + timedOut;
  }
}

async function soak({
  minutes,
  minions,
  samples: file,
}: Given<typeof OPTIONS>): Promise<SoakSample[]> {
  await using releasers = new Releasers();
  const master = await BrineUnderTest.start(ROOT);
  releasers.add(() => master.close());
  const big = { name: 'big', share: BIG_SHARE, returnBytes: BIG_BYTES } as const;
  const fleet = await Fleet.start(master, { minions, behaviours: [big], say });
  releasers.add(() => fleet.close());
  const few = await Fleet.start(master, { minions: BATCH_MINIONS, prefix: 'batch-', say });
  releasers.add(() => few.close());
  await fleet.connect();
  await few.connect();
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);

  const watch = new SizeWatch(master.tree);
  releasers.add(() => watch.close());
  const samples: SoakSample[] = [];
  const endAt = Date.now() + minutes * MINUTE_MS;
  for (let round = 0; Date.now() < endAt && !stop.signal.aborted;) {
    const minute = new Minute();
    const minuteEnd = Math.min(Date.now() + MINUTE_MS, endAt);
    while (Date.now() < minuteEnd && !stop.signal.aborted) {
      await oneJob(fleet, minute);
      if (round % ROUND === 0) await mixed(fleet, few, minute);
      round += 1;
      await pause(BETWEEN_JOBS_MS, stop.signal);
    }
    const sample = { minute: samples.length + 1, sizes: await watch.take(), ...minute };
    samples.push(sample);
    if (file !== undefined) await appendFile(file, `${JSON.stringify(sample)}\n`);
    say(
      `minute ${sample.minute}: ${sample.jobs} jobs, ${sample.acknowledged} of ` +
        `${sample.targeted} acknowledged, ${sample.failures} failures`,
    );
  }
  return samples;
}

/** `test.ping` of all minions; its p99 is what may drift. */
async function oneJob(fleet: Fleet, minute: Minute): Promise<void> {
  const job = await fleet.publish(JOB_WAIT_MS);
  minute.jobs += 1;
  minute.targeted += fleet.minions;
  minute.acknowledged += job.acknowledged;
  minute.resends += job.resends;
  minute.pingP99Ms.push(job.p99);
}

/** What else a master sees: batches of small jobs, events, minions that log in again. */
async function mixed(fleet: Fleet, few: Fleet, minute: Minute): Promise<void> {
  for (let job = 0; job < BATCH_JOBS; job += 1) {
    const { acknowledged, resends } = await few.publish(JOB_WAIT_MS);
    minute.jobs += 1;
    minute.targeted += few.minions;
    minute.acknowledged += acknowledged;
    minute.resends += resends;
  }
  minute.failed(await fleet.swarm.events({ inFlight: 16, count: 200, tag: 'soak/event' }));
  minute.failed(await few.logIns({ inFlight: 4, count: few.minions }));
}

function say(line: string): void {
  process.stderr.write(`soak: ${line}\n`);
}

// Last, as it needs the class above.
await runTool({ name: 'soak', usage: USAGE, run: main });

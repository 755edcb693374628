import { durableTtl, type Job } from '@brine/job';
import { matchGlob } from '@brine/target';
import { intOf, isMap, mapIn, type SaltMap, type SaltValue } from '@brine/wire';
import type { PublishRequest } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';

/** `--metadata`: a durable job, for seconds or `90s`, `15m`, `12h`, `2d`; 0 for none. */
const DURABLE_METADATA = 'brine_durable';
/** Each repetition goes to every minion: 1 MiB. */
const PUBLICATION_MAX_BYTES = 1_048_576;
/** A turn with everybody takes 100 ms per thousand: 25 s. */
const TARGETS_MAX = 250_000;
/** Durable jobs open at once, and the minions that they may wait for together. */
const OPEN_MAX = 200;
const WAITING_MAX = 1_000_000;

/** A publish is answered within 3 s whatever is away. */
const CHECK_MS = 1_000;

/** For how long a job stays open for minions that are away, or why that can not be. */
export type Durable = { readonly ttl: number | undefined } | { readonly refused: string };

/**
 * What a publish asks for, by its metadata or by `brine.durable_functions`. An invalid wish is
 * refused rather than passed over: whoever asks relies on it.
 */
export function durableWish(
  ports: MasterPorts,
  asked: PublishRequest,
  metadata: SaltMap | undefined,
): Durable & { readonly explicit: boolean } {
  const wish = metadata?.get(DURABLE_METADATA);
  if (wish !== undefined && wish !== null) {
    if (wish === 0 || wish === '0') return { ttl: undefined, explicit: true };
    const ttl = durableTtl(wish);
    if (ttl !== undefined) return { ttl, explicit: true };
    const refused = 'durable takes seconds or a text as 90s, 15m, 12h, 2d, up to 30d';
    return { refused, explicit: true };
  }
  const { durableFunctions = [] } = ports.rules;
  const ttls = [asked.fun].flat().map((fun) => {
    const [, ttl] = durableFunctions.find(([glob]) => matchGlob(glob, fun)) ?? [];
    return ttl;
  });
  // Of a job of several functions all have to be meant.
  const all = ttls.every((ttl) => ttl !== undefined) && ttls.length > 0;
  return { ttl: all ? Math.min(...ttls) : undefined, explicit: false };
}

/** Whether a durable job of this size may be opened now. */
export async function durableFits(
  ports: MasterPorts,
  size: { readonly bytes: number; readonly targets: number },
): Promise<string | undefined> {
  if (size.bytes > PUBLICATION_MAX_BYTES) {
    return `a durable job takes at most ${PUBLICATION_MAX_BYTES} bytes of arguments`;
  }
  if (size.targets > TARGETS_MAX) return `a durable job takes at most ${TARGETS_MAX} minions`;
  let counts: SaltValue;
  try {
    counts = await ports.jobs.ask('durable_open', new Map(), CHECK_MS);
  } catch {
    // A store that is away counts what is published when it is back; the job may not wait for it.
    ports.count('durable_unchecked');
    return undefined;
  }
  const open = isMap(counts) ? (intOf(counts, 'open') ?? 0) : 0;
  const waiting = isMap(counts) ? (intOf(counts, 'waiting') ?? 0) : 0;
  if (open >= OPEN_MAX) return `${OPEN_MAX} durable jobs are open; see jobs.active`;
  return waiting + size.targets > WAITING_MAX
    ? `durable jobs wait for ${waiting} minions already; see jobs.active`
    : undefined;
}

/**
 * The job with the times of a durable one where it is to be one; a refusal where whoever asks for
 * that can not have it. What only the configuration asks for goes out as any other job then.
 */
export async function durably(
  ports: MasterPorts,
  job: Job,
  asked: PublishRequest,
): Promise<Job | { readonly refused: string }> {
  if (job.hidden) return job;
  const wish = durableWish(ports, asked, asked.kwargs && mapIn(asked.kwargs, 'metadata'));
  if ('refused' in wish) return wish;
  if (wish.ttl === undefined) return job;
  const size = { bytes: job.publication.length, targets: job.minions.length };
  const refused = await durableFits(ports, size);
  if (refused !== undefined) {
    ports.count('durable_refused');
    return wish.explicit ? { refused } : job;
  }
  // Who gets it in the last second has as long to return as others.
  const deadlineAt = job.deadlineAt + wish.ttl * 1000;
  return { ...job, durable: true, deadlineAt, notAfter: job.publishedAt + wish.ttl * 1000 };
}

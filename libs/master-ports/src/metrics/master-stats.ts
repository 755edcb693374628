import type { Event } from '@brine/job';
import type { Events } from '@brine/master';
import type { ServiceContext } from '@brine/service';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { type RequestMetrics, requestMetrics } from './metrics.ts';

export interface MasterStatsParts {
  /** `worker-pool-1`, and its host: events of two workers have different tags. */
  readonly instance: string;
  readonly host: string;
  /** `master_stats_event_iter`, in ms. */
  readonly everyMs: number;
  readonly fire: (event: Event & { readonly msgId: string }) => Promise<unknown>;
  readonly onTrouble: (error: unknown) => void;
  /** Unix ms. */
  readonly now: () => number;
}

/** Number of runs of a command, and their average time in seconds. */
interface CommandStats {
  runs: number;
  mean: number;
}

/**
 * Fires the events `salt/stats/<worker>` of `master_stats` (Salt: salt/master.py
 * MWorker._post_stats): the work of a worker since the previous event. As in Salt a worker without
 * requests fires none.
 */
export class MasterStats {
  readonly #parts: MasterStatsParts;
  readonly #stats = new Map<string, CommandStats>();
  #sinceMs: number;

  constructor(parts: MasterStatsParts) {
    this.#parts = parts;
    this.#sinceMs = parts.now();
  }

  /** Records a run of a command. Commands come from closed tables, so they are few. */
  ran(cmd: string, ms: number): void {
    const stats = this.#stats.get(cmd) ?? { runs: 0, mean: 0 };
    stats.runs += 1;
    stats.mean += (ms / 1_000 - stats.mean) / stats.runs;
    this.#stats.set(cmd, stats);
    const now = this.#parts.now();
    if (now - this.#sinceMs > this.#parts.everyMs) this.#fire(now);
  }

  #fire(nowMs: number): void {
    const { instance, host, fire, onTrouble } = this.#parts;
    const worker = `${instance}.${host}`;
    const index = /-(\d+)$/.exec(instance)?.[1];
    const stats: SaltMap = new Map();
    for (const [cmd, { runs, mean }] of this.#stats) stats.set(cmd, mapOf({ runs, mean }));
    const data = mapOf({
      time: (nowMs - this.#sinceMs) / 1_000,
      worker,
      pool: 'default',
      pool_index: index === undefined ? 0 : Number(index) - 1,
      stats,
    });
    const msgId = `stats:${worker}:${nowMs}`;
    this.#stats.clear();
    this.#sinceMs = nowMs;
    fire({ kind: 'local', tag: `salt/stats/${worker}`, body: pack(data), msgId }).catch(onTrouble);
  }
}

/** The metrics of requests, and the statistics where `master_stats` asks for them. */
export function openRequestMetrics(
  { name, options, log, metrics }: Pick<ServiceContext, 'name' | 'options' | 'log' | 'metrics'>,
  events: Events,
): { readonly requests: RequestMetrics; readonly stats: MasterStats | undefined } {
  const requests = requestMetrics(metrics);
  if (!options.masterStats) return { requests, stats: undefined };
  const counted = requests.counted(events);
  const stats = new MasterStats({
    instance: name,
    host: options.brine.host,
    everyMs: options.masterStatsEventIter * 1_000,
    fire: (event) => counted.append(event),
    onTrouble: (err) => log.warn({ err }, 'statistics of a worker were lost'),
    now: () => Date.now(),
  });
  const handled: RequestMetrics['handled'] = (cmd, ms) => {
    requests.handled(cmd, ms);
    stats.ran(cmd, ms);
  };
  return { requests: { ...requests, handled }, stats };
}

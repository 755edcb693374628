import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from './child.ts';
import { monotonicMs } from './clock.ts';
import { PublishClient } from './load/publish-client.ts';
import { publishBody } from './load/publish-request.ts';
import type { LoadOrder } from './messages.ts';
import { checkBehaviours } from './minions/behaviours.ts';
import { defaultCacheDir, keyPoolFile, readKeyPool } from './minions/key-pool.ts';
import { jobResult, loadResult, statsOf } from './results/results.ts';
import type {
  EventsOptions,
  JobResult,
  LoadOptions,
  LoadResult,
  PublishesOptions,
  PublishOptions,
  ReturnsOptions,
  SwarmOptions,
  SwarmStats,
} from './types.ts';
import { minionId } from './types.ts';

const DEFAULT_DURATION_MS = 10_000;
const DEFAULT_WAIT_MS = 30_000;
const PRE_ACCEPT_AT_ONCE = 64;

interface Part {
  readonly child: Child;
  readonly first: number;
  readonly count: number;
}

/** Thousands of simulated minions in child processes; see the README. */
export class Swarm {
  readonly #options: SwarmOptions;
  readonly #parts: readonly Part[];
  readonly #client: PublishClient;

  private constructor(options: SwarmOptions, parts: readonly Part[]) {
    this.#options = options;
    this.#parts = parts;
    const port = options.clientPort ?? options.retPort;
    const host = options.clientHost ?? hostOf(options);
    this.#client = new PublishClient(host, port, options.log);
  }

  /** Makes missing keys and starts the processes, without connecting. */
  static async start(options: SwarmOptions): Promise<Swarm> {
    const report = options.onProgress ?? (() => undefined);
    const bits = options.keyBits ?? 2048;
    const behaviours = checkBehaviours(options.behaviours ?? []);
    if (!Number.isInteger(options.minions) || options.minions < 1) {
      throw new RangeError('a swarm has at least one minion');
    }
    const cacheDir = options.cacheDir ?? defaultCacheDir();
    const keyPool = await keyPoolFile({ bits, pairs: options.keyPairs, cacheDir }, report);
    if (options.pkiDir !== undefined) await preAccept(options, options.pkiDir, keyPool);
    const swarmFirst = options.firstIndex ?? 0;
    const parts = split(options.minions, options.processes ?? 1).map(({ first, count }) => ({
      child: new Child(),
      first: swarmFirst + first,
      count,
    }));
    const swarm = new Swarm(options, parts);
    try {
      await Promise.all(
        parts.map(({ child, first, count }, part) => {
          const plan = {
            host: hostOf(options),
            retPort: options.retPort,
            publishPort: options.publishPort,
            version: options.payloadVersion ?? 3,
            keyPool,
            idPrefix: prefixOf(options),
            first,
            count,
            swarmFirst,
            swarmCount: options.minions,
            part,
            parts: parts.length,
            behaviours,
            openEvery: options.openEvery ?? 20,
            log: options.log,
            reconnectMs: options.reconnectMs ?? ([1_000, 11_000] as const),
            // Salt: `tcp_keepalive_idle` of the minion.
            keepAliveMs: options.keepAliveMs ?? 300_000,
            returnTimeoutMs: options.returnTimeoutMs ?? ([5_000, 10_000] as const),
            // Salt: return_retry_tries.
            returnSends: options.returnSends ?? 3,
          };
          return child.ask({ kind: 'start', plan });
        }),
      );
    } catch (error) {
      await swarm.close();
      throw error;
    }
    return swarm;
  }

  /** Repeated log-ins, without subscriptions. */
  logIn(options: LoadOptions): Promise<LoadResult> {
    return this.#load({ of: 'log-in' }, options);
  }

  /** Subscribes and logs in every minion; then they answer jobs. */
  connect(options: { readonly inFlight?: number } = {}): Promise<LoadResult> {
    const { minions } = this.#options;
    const inFlight = options.inFlight ?? 64;
    // All minions; the time limit is for a master that does not answer.
    const loop = { inFlight, count: minions, durationMs: 3_600_000 };
    return this.#load({ of: 'connect' }, loop, true);
  }

  /** Publishes one job and follows it to the last acknowledgement. */
  async publish(options: PublishOptions): Promise<JobResult> {
    const request = await this.#client.prepare(options);
    await Promise.all(this.#parts.map(({ child }) => child.ask({ kind: 'watch' })));
    const sinceMs = monotonicMs();
    const answer = await this.#client.send(request);
    const repliedMs = monotonicMs();
    const { jid } = answer;
    if (jid === undefined) return jobResult({ answer, sinceMs, repliedMs, targeted: 0, parts: [] });
    const expected = this.#countByPart(answer.minions);
    const untilMs = sinceMs + (options.waitMs ?? DEFAULT_WAIT_MS);
    const parts = await Promise.all(
      this.#parts.map(({ child }, part) => {
        const order = { kind: 'follow', jid, expected: expected[part] ?? 0 } as const;
        return child.ask({ ...order, sinceMs, untilMs });
      }),
    );
    const targeted = expected.reduce((sum, count) => sum + count, 0);
    return jobResult({ answer, sinceMs, repliedMs, targeted, parts });
  }

  /** Repeated publishes, each with its own job. */
  async publishes(options: PublishesOptions): Promise<LoadResult> {
    return this.#load({ of: 'publish', body: await publishBody(options, true) }, options);
  }

  /** Repeated returns. Logs in minions that are not; each minion uses its own connection. */
  returns(options: ReturnsOptions): Promise<LoadResult> {
    const { jids = [], returnBytes } = options;
    return this.#load({ of: 'return', jids, returnBytes }, options);
  }

  /** Repeated events. */
  events(options: EventsOptions): Promise<LoadResult> {
    const { tag = 'swarm/event', dataBytes = 16 } = options;
    return this.#load({ of: 'event', tag, dataBytes }, options);
  }

  /** Counts and resources of each process so far. */
  async stats(): Promise<SwarmStats> {
    return statsOf(await Promise.all(this.#parts.map(({ child }) => child.ask({ kind: 'stats' }))));
  }

  /** Hangs up all connections and ends the processes. */
  async close(): Promise<void> {
    this.#client.close();
    await Promise.all(this.#parts.map(({ child }) => child.close()));
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #load(order: LoadOrder, options: LoadOptions, byMinions = false): Promise<LoadResult> {
    const parts = this.#parts;
    const { count, ratePerSecond } = options;
    const durationMs =
      options.durationMs ?? (count === undefined ? DEFAULT_DURATION_MS : 3_600_000);
    const answers = await Promise.all(
      parts.map(({ child, count: minions }, part) => {
        const loop = {
          inFlight: Math.max(1, shareOf(options.inFlight, part, parts.length)),
          count: byMinions ? minions : shareOf(count ?? Infinity, part, parts.length),
          durationMs,
          ratePerSecond: ratePerSecond === undefined ? undefined : ratePerSecond / parts.length,
        };
        return child.ask({ kind: 'load', order, loop });
      }),
    );
    return loadResult(answers);
  }

  /** Number of these ids in each process; unknown ids are ignored. */
  #countByPart(ids: readonly string[]): number[] {
    const prefix = prefixOf(this.#options);
    const counts = this.#parts.map(() => 0);
    for (const id of ids) {
      const index = Number(id.slice(prefix.length));
      if (!Number.isInteger(index) || minionId(prefix, index) !== id) continue;
      const part = this.#parts.findIndex((p) => index >= p.first && index < p.first + p.count);
      if (part >= 0) counts[part] = (counts[part] ?? 0) + 1;
    }
    return counts;
  }
}

function hostOf(options: SwarmOptions): string {
  return options.host ?? '127.0.0.1';
}

function prefixOf(options: SwarmOptions): string {
  return options.idPrefix ?? 'swarm-';
}

/** Splits `total` into ranges of nearly equal length. */
function split(total: number, parts: number): { first: number; count: number }[] {
  const runs = Math.max(1, Math.min(parts, total));
  let first = 0;
  return Array.from({ length: runs }, (_, part) => {
    const count = shareOf(total, part, runs);
    first += count;
    return { first: first - count, count };
  });
}

/** The share of one of several parts of a whole number; the shares add up to it. */
function shareOf(total: number, part: number, parts: number): number {
  if (!Number.isFinite(total)) return total;
  return Math.floor(total / parts) + (part < total % parts ? 1 : 0);
}

/** Writes the public keys to where `salt-key -a` would put them. */
async function preAccept(options: SwarmOptions, pkiDir: string, keyPool: string): Promise<void> {
  const pool = await readKeyPool(keyPool);
  const dir = join(pkiDir, 'minions');
  await mkdir(dir, { recursive: true });
  const first = options.firstIndex ?? 0;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < options.minions) {
      const index = first + next;
      next += 1;
      const pub = pool[index % pool.length]?.pub ?? '';
      await writeFile(join(dir, minionId(prefixOf(options), index)), `${pub.trim()}\n`);
    }
  };
  await Promise.all(Array.from({ length: PRE_ACCEPT_AT_ONCE }, lane));
}

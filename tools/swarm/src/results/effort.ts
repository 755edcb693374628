import { monitorEventLoopDelay } from 'node:perf_hooks';
import { monotonicMs } from '../clock.ts';
import type { Effort } from '../messages.ts';

const RESOLUTION_MS = 10;
/** Shortest time for measuring a share of a core. */
const MIN_WALL_MS = 200;
/** From this share on, the rig limits the result. */
const CPU_SHARE_MAX = 0.9;
const LAG_MAX_MS = 50;

/** Measures the CPU of this process, and the lag of its event loop. */
export class EffortMeter {
  readonly #lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #startMs = monotonicMs();
  #cpu = process.cpuUsage();

  constructor() {
    this.#lag.enable();
  }

  begin(): void {
    this.#lag.reset();
    this.#startMs = monotonicMs();
    this.#cpu = process.cpuUsage();
  }

  end(): Effort {
    const { user, system } = process.cpuUsage(this.#cpu);
    const cpuMs = (user + system) / 1000;
    const wallMs = monotonicMs() - this.#startMs;
    // The histogram contains the whole time between two ticks.
    const late = (nanos: number): number => Math.max(0, nanos / 1e6 - RESOLUTION_MS);
    const seen = this.#lag.count > 0;
    return {
      wallMs,
      cpuMs,
      cpuShare: wallMs > 0 ? cpuMs / wallMs : 0,
      lagP99Ms: seen ? late(this.#lag.percentile(99)) : 0,
      lagMaxMs: seen ? late(this.#lag.max) : 0,
    };
  }

  close(): void {
    this.#lag.disable();
  }
}

/** The bottleneck in the rig itself, if there is one. */
export function bottleneckOf(efforts: readonly Effort[]): string | undefined {
  const notes: string[] = [];
  efforts.forEach((effort, part) => {
    if (effort.wallMs < MIN_WALL_MS) return;
    if (effort.cpuShare >= CPU_SHARE_MAX) {
      notes.push(`rig process ${part} used ${Math.round(effort.cpuShare * 100)} % of a core`);
    } else if (effort.lagP99Ms >= LAG_MAX_MS) {
      notes.push(
        `the event loop of rig process ${part} was ${Math.round(effort.lagP99Ms)} ms late`,
      );
    }
  });
  return notes.length === 0 ? undefined : notes.join('; ');
}

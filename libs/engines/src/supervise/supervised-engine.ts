import { errorText, RestartDelays, sleepUnless } from '@brine/tasks';
import type { EngineFigures } from '../engine.ts';
import type { EngineSpec } from '../engine-list.ts';
import type { EngineProcess } from './engine-process.ts';
import {
  type EngineCounts,
  type EngineState,
  type EngineStatus,
  moduleText,
  noCounts,
} from './engine-status.ts';
import { NodeEngine } from './node-engine.ts';
import type { EnginePorts, RecordKeeper } from './ports.ts';

/**
 * Delays before an engine is started again. With the last one it counts as given up, and is only
 * tried rarely.
 */
const RESTARTS_MS = [1, 2, 4, 8, 16, 32, 60, 60, 60, 600].map((seconds) => seconds * 1_000);
/** After this run time an engine begins with the first delay again, ms. */
const STEADY_MS = 60_000;

export interface SupervisedParts {
  readonly spec: EngineSpec;
  readonly ports: EnginePorts;
  /** Starts an engine of the site's Salt; absent without an interpreter. */
  readonly startPython?: ((spec: EngineSpec) => EngineProcess) | undefined;
  /** Delays in tests; default {@link RESTARTS_MS}. */
  readonly restartsMs?: readonly number[];
}

/** One engine, which is restarted while this process has it. */
export class SupervisedEngine {
  readonly #parts: SupervisedParts;
  readonly #counts: EngineCounts = noCounts();
  #state: EngineState = 'elsewhere';
  #process: EngineProcess | undefined;
  #why: string | undefined;
  #figures: EngineFigures = {};

  constructor(parts: SupervisedParts) {
    this.#parts = parts;
  }

  get spec(): EngineSpec {
    return this.#parts.spec;
  }

  status(): EngineStatus {
    const { name, module, where } = this.#parts.spec;
    const inHand = this.#process instanceof NodeEngine ? this.#process.inHand : 0;
    return {
      name,
      module: moduleText(module),
      where,
      state: this.#state,
      inHand,
      pid: this.#process?.pid,
      why: this.#why,
      figures: this.#figures,
      ...this.#counts,
    };
  }

  /**
   * Runs the engine until the signal is aborted; resolves when its process has ended. Never
   * rejects.
   */
  async run(keeper: RecordKeeper, stop: AbortSignal): Promise<void> {
    const restarts = new RestartDelays(this.#parts.restartsMs ?? RESTARTS_MS, STEADY_MS);
    while (!stop.aborted) {
      const startedAt = performance.now();
      const end = await this.#once(keeper, stop);
      if (stop.aborted) break;
      const delayMs = restarts.next(performance.now() - startedAt);
      this.#ended(end, restarts.isLast, delayMs);
      // A refused engine stays so until the configuration, and with it this process, is replaced.
      if (end.refused) await sleepUnless(Infinity, stop);
      else await sleepUnless(delayMs, stop);
      if (!stop.aborted) this.#counts.restarts += 1;
    }
    this.#state = 'elsewhere';
    this.#why = undefined;
    this.#figures = {};
  }

  async #once(keeper: RecordKeeper, stop: AbortSignal) {
    this.#state = 'starting';
    this.#figures = {};
    let started: EngineProcess;
    try {
      started = this.#start(keeper);
    } catch (error) {
      const text = errorText(error);
      return { text, refused: false };
    }
    this.#process = started;
    const onStop = (): void => void started.stop();
    stop.addEventListener('abort', onStop);
    if (stop.aborted) onStop();
    const end = await started.gone;
    stop.removeEventListener('abort', onStop);
    this.#process = undefined;
    return end;
  }

  #start(keeper: RecordKeeper): EngineProcess {
    const { spec, ports, startPython } = this.#parts;
    if (spec.module.kind === 'python') {
      if (startPython === undefined) throw new Error('brine.python is not set');
      this.#state = 'running';
      return startPython(spec);
    }
    return new NodeEngine({
      spec,
      ports,
      keeper,
      counts: this.#counts,
      onRunning: () => {
        this.#state = 'running';
      },
      onFigures: (figures) => {
        this.#figures = { ...this.#figures, ...figures };
      },
    });
  }

  #ended(
    { text, refused }: { readonly text: string; readonly refused: boolean },
    isGivenUp: boolean,
    delayMs: number,
  ): void {
    const { spec, ports } = this.#parts;
    const before = this.#state;
    this.#state = refused ? 'refused' : isGivenUp ? 'given up' : 'waiting';
    this.#why = text;
    const next = refused ? 'it is not started again' : `again in ${Math.round(delayMs / 1000)} s`;
    const level = refused || (isGivenUp && before !== 'given up') ? 'error' : 'warn';
    ports.log(level, `engine ${spec.name} ended: ${text}; ${next}`);
  }
}

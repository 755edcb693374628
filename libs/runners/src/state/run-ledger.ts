import { setTimeout as sleep } from 'node:timers/promises';
import { copyOf, type DoneStep, RunCutOffError, type StepLedger } from '@brine/states';
import type { Trouble } from '@brine/tasks';
import { isMap, mapIn, mapOf, SaltFloat, type SaltMap } from '@brine/wire';
import { type OwnedRun, RunReleasedError } from '../owned-run.ts';
import { unlessCutOff } from './world.ts';

/** Poll interval of a paused state, ms. */
const PAUSE_LOOK_MS = 500;

/**
 * The finished steps of an orchestration, in the record of its run, so that another process can
 * resume it. Saves run one after the other; each writes the current state.
 */
export class RunLedger implements StepLedger {
  readonly #run: OwnedRun;
  readonly #about: SaltMap;
  readonly #steps: SaltMap;
  readonly #begun: SaltMap;
  readonly #onTrouble: Trouble;
  #saving: Promise<void> = Promise.resolve();
  #isWhole = true;

  /** @param about further contents of the record, beside the steps */
  constructor(run: OwnedRun, about: SaltMap, onTrouble: Trouble) {
    this.#run = run;
    this.#about = about;
    this.#steps = new Map(mapIn(run.data, 'steps'));
    this.#begun = new Map(mapIn(run.data, 'begun'));
    this.#onTrouble = onTrouble;
  }

  /** False if the record had no room for all steps: then no process can resume it. */
  static isWhole(data: SaltMap): boolean {
    return data.get('cut') !== true;
  }

  done(key: string): DoneStep | undefined {
    const step = this.#steps.get(key);
    const ret = isMap(step) ? mapIn(step, 'ret') : undefined;
    if (!isMap(step) || ret === undefined) return undefined;
    return { ret: copyOf(ret), startMs: numberIn(step, 'start'), endMs: numberIn(step, 'end') };
  }

  earlier(key: string): SaltMap | undefined {
    return mapIn(this.#begun, key);
  }

  async begin(key: string, note: SaltMap): Promise<void> {
    this.#begun.set(key, note);
    await this.#save();
  }

  async finish(key: string, { ret, startMs, endMs }: DoneStep): Promise<void> {
    this.#begun.delete(key);
    // Results are stamped after they were saved: the saved copy must not change with them.
    this.#steps.set(key, mapOf({ ret: copyOf(ret), start: startMs, end: endMs }));
    await this.#save();
  }

  #save(): Promise<void> {
    const next = this.#saving.then(() => this.#write());
    // The caller handles a failed save; the next one is tried all the same.
    this.#saving = next.catch(() => undefined);
    return next;
  }

  async #write(): Promise<void> {
    try {
      this.#run.check();
      await this.#run.save(this.#data());
    } catch (error) {
      if (error instanceof RunReleasedError) throw new RunCutOffError(error.message);
      if (!this.#isWhole || !isTooLarge(error)) throw error;
      // The run continues, but a takeover must not repeat its steps.
      this.#isWhole = false;
      this.#onTrouble('the results of an orchestration are too large to be taken over');
      await this.#write();
    }
  }

  #data(): SaltMap {
    if (!this.#isWhole) return new Map(this.#about).set('cut', true);
    return new Map(this.#about)
      .set('steps', new Map(this.#steps))
      .set('begun', new Map(this.#begun));
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.name === 'RunTooLargeError';
}

function numberIn(map: SaltMap, key: string): number {
  const value = map.get(key);
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' ? value : 0;
}

/** The messages of `state.pause`, `state.resume` and `state.soft_kill` to a run. */
export type PauseMessage = 'pause' | 'resume' | 'kill';

/** The state id for all states of a run. */
export const ALL_STATES = '__all__';

/** A pause: `forMs` counts from the start of the wait at the state. */
interface Pause {
  readonly forMs: number;
  readonly kill: boolean;
}

/** The pauses of a run, by state id (Salt: State.check_pause). */
export class Pauses {
  readonly #paused = new Map<string, Pause>();
  readonly #now: () => number;
  readonly #outer: () => readonly SaltMap[];
  #received = 0;

  /** @param outer messages for the enclosing orchestration; they apply here too */
  constructor(now: () => number, outer: () => readonly SaltMap[] = () => []) {
    this.#now = now;
    this.#outer = outer;
  }

  /** Applies a message. */
  take(message: SaltMap): void {
    const given = message.get('state_id') ?? ALL_STATES;
    const id = typeof given === 'string' ? given : ALL_STATES;
    const kind = message.get('word');
    const duration = message.get('duration');
    const { forMs = Infinity, kill = false } = this.#paused.get(id) ?? {};
    if (kind === 'resume') {
      this.#paused.delete(id);
      if (id === ALL_STATES) this.#paused.clear();
    } else if (kind === 'kill') this.#paused.set(id, { forMs, kill: true });
    else if (kind === 'pause') {
      const isTimed = typeof duration === 'number' && duration > 0;
      // As in Salt only `resume` cancels an end.
      this.#paused.set(id, { forMs: isTimed ? duration * 1000 : forMs, kill });
    }
  }

  /** Waits while a state is paused; `kill` ends the run before it. */
  async gate(id: string, signal: AbortSignal | undefined): Promise<'run' | 'kill'> {
    const sinceMs = this.#now();
    for (;;) {
      const messages = this.#outer().slice(this.#received);
      this.#received += messages.length;
      for (const message of messages) this.take(message);
      const found = this.#paused.get(id) ?? this.#paused.get(ALL_STATES);
      if (found === undefined || this.#now() - sinceMs > found.forMs) return 'run';
      if (found.kill) return 'kill';
      await unlessCutOff(sleep(PAUSE_LOOK_MS), signal);
    }
  }
}

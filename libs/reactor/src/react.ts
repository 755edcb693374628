import { errorText } from '@brine/tasks';
import { mapOf, type SaltMap } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { compileReactions, declarationsOf } from './compile-reactions.ts';
import { ElsewhereError, PlannedCalls } from './planned-calls.ts';
import {
  type FailureKind,
  OutageError,
  type ReactionEvent,
  type ReactionFile,
  type ReactPorts,
} from './ports.ts';
import { callOf, type ReactionCall } from './reaction-call.ts';

/**
 * The outcome of a reaction. `over`: it is done. `again`: this process stops, and another one must
 * continue. `elsewhere`: another process already has it.
 */
export type Reacted = 'over' | 'again' | 'elsewhere';

/**
 * Limit of deliveries without an end: such a reaction is treated as one that crashes its processes.
 */
export const DELIVERIES_MAX = 5;
/** Delays between tries during an outage, in ms. After the last one the reaction fails. */
export const RETRY_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
/** Length limit of a stored failure text. */
const WHY_MAX = 2_000;

/** Thrown when this process stops. */
class StopError extends Error {}

/**
 * Reacts to one event: renders its files, compiles them, makes their calls in order. Jobs are
 * published one after the other; runners and wheels run concurrently, as in Salt. An error of one
 * file or call is recorded and affects nothing else. Rejects only if the error can not be recorded
 * either.
 */
export async function react(event: ReactionEvent, ports: ReactPorts): Promise<Reacted> {
  const reaction = new Reaction(event, ports);
  try {
    return await reaction.run();
  } catch (error) {
    if (error instanceof StopError) return 'again';
    if (error instanceof ElsewhereError) return 'elsewhere';
    throw error;
  }
}

class Reaction {
  readonly #event: ReactionEvent;
  readonly #ports: ReactPorts;

  constructor(event: ReactionEvent, ports: ReactPorts) {
    this.#event = event;
    this.#ports = ports;
  }

  async run(): Promise<Reacted> {
    const { id, deliveries } = this.#event;
    const { plans } = this.#ports;
    const plan =
      deliveries === 1
        ? PlannedCalls.first(plans, id)
        : await this.#tried(() => PlannedCalls.of(plans, id));
    if (plan.ended) return 'over';
    if (deliveries > DELIVERIES_MAX) {
      const text = `Workers were given it ${deliveries - 1} times, and none came to its end.`;
      await this.#failed('poison', '', text);
      await this.#tried(() => plan.end());
      return 'over';
    }
    const calls = await this.#calls();
    // A reaction without calls needs no plan.
    if (calls.length === 0 && plan.begun === 0) return 'over';
    await this.#tried(() => plan.begin(calls.length, () => this.#ports.newJid()));
    await this.#make(calls, plan);
    await this.#tried(() => plan.end());
    return 'over';
  }

  /** The calls of all files, in their order; a call that can not be read is recorded as failed. */
  async #calls(): Promise<readonly ReactionCall[]> {
    const high = await this.#high();
    if (high.size === 0) return [];
    const { chunks, errors } = compileReactions(high);
    if (errors.length > 0) {
      await this.#failed('compile', '', errors.join('\n'));
      return [];
    }
    const calls: ReactionCall[] = [];
    for (const chunk of chunks) {
      const { call, notes } = await callOf(chunk, this.#ports.signatureOf);
      const id = pyStr(chunk.get('__id__') ?? '');
      for (const note of notes) this.#ports.note(`reaction ${id}: ${note}`);
      if ('refused' in call) await this.#failed('refused', id, call.refused);
      else calls.push(call);
    }
    return calls;
  }

  /** The declarations of all files; if two have one id the later one counts, as in Salt. */
  async #high(): Promise<SaltMap> {
    const { tag, data } = this.#event;
    const high: SaltMap = new Map();
    for (const item of this.#ports.filesFor(tag)) {
      const files = await this.#tried(() => this.#ports.find(item));
      if (files.length === 0) await this.#failed('missing', item, 'File missing or not found.');
      for (const file of files) {
        const rendered = await this.#rendered(file, mapOf({ tag, data }));
        for (const [name, body] of rendered ?? []) high.set(name, body);
      }
    }
    return high;
  }

  async #rendered(file: ReactionFile, names: SaltMap): Promise<SaltMap | undefined> {
    try {
      const value = await this.#tried(() => this.#ports.render(file, names));
      return declarationsOf(value, file.path);
    } catch (error) {
      if (error instanceof StopError) throw error;
      await this.#failed('render', file.path, errorText(error));
      return undefined;
    }
  }

  async #make(calls: readonly ReactionCall[], plan: PlannedCalls): Promise<void> {
    const running: Promise<unknown>[] = [];
    const errors: unknown[] = [];
    for (const [at, call] of calls.entries()) {
      if (plan.isDone(at)) continue;
      const making = this.#one(call, at, plan).catch((error: unknown) => errors.push(error));
      // Jobs go out in the order of the file.
      if (call.kind === 'local') await making;
      else running.push(making);
      if (errors.length > 0) break;
    }
    // Calls that run here must not run in another process at the same time.
    await Promise.all(running);
    if (errors.length > 0) throw errors[0];
  }

  async #one(call: ReactionCall, at: number, plan: PlannedCalls): Promise<void> {
    const made = {
      call,
      jid: call.kind === 'local' && call.jid !== '' ? call.jid : plan.jidOf(at),
      key: `${this.#event.id}/${at}`,
      again: plan.mayBeRepeated,
    };
    try {
      await this.#tried(() => this.#ports.call(made, this.#event));
    } catch (error) {
      if (error instanceof StopError || error instanceof ElsewhereError) throw error;
      await this.#failed('call', call.id, `${call.kind} ${call.fun}: ${errorText(error)}`);
    }
    await this.#tried(() => plan.did(at));
  }

  /** Retries during an outage. @throws StopError when this process stops */
  async #tried<T>(work: () => Promise<T>): Promise<T> {
    for (const pauseMs of RETRY_MS) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof OutageError)) throw error;
        if (!(await this.#ports.pause(pauseMs))) throw new StopError(error.message);
      }
    }
    return work();
  }

  async #failed(kind: FailureKind, what: string, why: string): Promise<void> {
    const { id, tag } = this.#event;
    await this.#ports.failed({ id, tag, what, why: why.slice(0, WHY_MAX) }, kind);
  }
}

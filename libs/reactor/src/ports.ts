import type { SaltMap, SaltValue } from '@brine/wire';
import type { PlanStore } from './planned-calls.ts';
import type { ReactionCall, SignatureOf } from './reaction-call.ts';

/** An event that reactions match. */
export interface ReactionEvent {
  /** The same in all tries: {@link CallToMake.key} is derived from it. */
  readonly id: string;
  readonly tag: string;
  /** Its data with `_stamp`, as templates get them. */
  readonly data: SaltMap;
  /** Number of deliveries to a process. */
  readonly deliveries: number;
}

/** A file that reacts. */
export interface ReactionFile {
  /** Path on the host, or below the roots of the file server. */
  readonly path: string;
  /** Environment of the file server; undefined for a file of the host. */
  readonly saltenv?: string;
}

/** A call that is to be made. */
export interface CallToMake {
  readonly call: ReactionCall;
  /** Id of the job or run; the same in all tries. */
  readonly jid: string;
  /** Id of the reaction and number of the call, unique per call. */
  readonly key: string;
  /** True if a previous process may have made it. */
  readonly again: boolean;
}

/** A reaction that did not do what its file asks for. */
export interface FailedReaction {
  /** Id of the reaction. */
  readonly id: string;
  readonly tag: string;
  /** The file, or the id of the declaration in it; empty if the whole reaction failed. */
  readonly what: string;
  readonly why: string;
}

/** Reason of a failure; also the label of its metric. */
export type FailureKind = 'missing' | 'render' | 'compile' | 'refused' | 'call' | 'poison';

export interface ReactPorts {
  /** The files that react to a tag, as the list names them. */
  filesFor(tag: string): readonly string[];
  /** The files behind an item of the list: a path, a glob or `salt://`. */
  find(item: string): Promise<readonly ReactionFile[]>;
  /**
   * Renders a file.
   * @throws Error with a text about the fault in the file; {@link OutageError}
   */
  render(file: ReactionFile, names: SaltMap): Promise<SaltValue>;
  readonly signatureOf: SignatureOf;
  readonly plans: PlanStore;
  newJid(): Promise<string>;
  /**
   * Makes a call; resolves when it has ended, with or without success.
   * @throws Error for a call that can not be made; {@link OutageError}
   */
  call(made: CallToMake, event: ReactionEvent): Promise<void>;
  /** Records a failure. Does not throw. */
  failed(failed: FailedReaction, kind: FailureKind): Promise<void>;
  /** Logs that a part of a file has no effect. */
  note(text: string): void;
  /** Waits; resolves early, with false, if this process is to stop. */
  pause(ms: number): Promise<boolean>;
}

/** A service that the call needs is unreachable: a retry may succeed. */
export class OutageError extends Error {
  override readonly name = 'OutageError';
}

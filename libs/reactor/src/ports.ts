import type { SaltMap, SaltValue } from '@brine/wire';
import type { PlanStore } from './planned-calls.ts';
import type { ReactionCall, SignatureOf } from './reaction-call.ts';

/** An event that is to be reacted to. */
export interface ReactionEvent {
  /** The same in all tries: {@link CallToMake.key} is made of it. */
  readonly id: string;
  readonly tag: string;
  /** Its data with `_stamp`, as templates see them. */
  readonly data: SaltMap;
  /** How often a process was given it. */
  readonly deliveries: number;
}

/** A file that reacts. */
export interface ReactionFile {
  /** Of the host, or below the roots of the file server. */
  readonly path: string;
  /** Environment of the file server; undefined for a file of the host. */
  readonly saltenv?: string;
}

/** A call that is to be made. */
export interface CallToMake {
  readonly call: ReactionCall;
  /** Of the job or run; the same in all tries. */
  readonly jid: string;
  /** Id of the reaction and number of the call: one key is one call. */
  readonly key: string;
  /** A process before this one may have made it. */
  readonly again: boolean;
}

/** A reaction that did not do what its file says. */
export interface FailedReaction {
  /** Id of the reaction. */
  readonly id: string;
  readonly tag: string;
  /** The file, or the id of the declaration in it; empty where all of it failed. */
  readonly what: string;
  readonly why: string;
}

/** Why a reaction failed; also the label of its metric. */
export type FailureKind = 'missing' | 'render' | 'compile' | 'refused' | 'call' | 'poison';

/** What reactions reach outside. */
export interface ReactPorts {
  /** The files that react to a tag, as the list names them. */
  filesFor(tag: string): readonly string[];
  /** The files that an item of the list means: a path, a glob or `salt://`. */
  find(item: string): Promise<readonly ReactionFile[]>;
  /**
   * Renders a file.
   * @throws Error with the text of what is wrong in the file; {@link OutageError}
   */
  render(file: ReactionFile, names: SaltMap): Promise<SaltValue>;
  readonly signatureOf: SignatureOf;
  readonly plans: PlanStore;
  newJid(): Promise<string>;
  /**
   * Makes a call; resolves when it has ended, however it ended.
   * @throws Error for a call that can not be made; {@link OutageError}
   */
  call(made: CallToMake, event: ReactionEvent): Promise<void>;
  /** Puts a failure on record. Does not throw. */
  failed(failed: FailedReaction, kind: FailureKind): Promise<void>;
  /** A line for the log about a file that is not in force as it stands. */
  note(text: string): void;
  /** Waits; resolves early, with false, when this process is to stop. */
  pause(ms: number): Promise<boolean>;
}

/** Something that the call needs is away: another try may help. */
export class OutageError extends Error {
  override readonly name = 'OutageError';
}

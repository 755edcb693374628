import type { JobReport } from './load/job-run.ts';
import type { LoopOptions, LoopReport } from './load/load-loop.ts';
import type { Behaviour, ProcessStats } from './types.ts';

/** The first message to a child. */
export interface ChildPlan {
  readonly host: string;
  readonly retPort: number;
  readonly publishPort: number | undefined;
  readonly version: 2 | 3;
  readonly keyPool: string;
  readonly idPrefix: string;
  /** Index of this child's first minion in the swarm, which counts from `swarmFirst`. */
  readonly first: number;
  readonly count: number;
  readonly swarmFirst: number;
  readonly swarmCount: number;
  readonly part: number;
  readonly parts: number;
  readonly behaviours: readonly Behaviour[];
  readonly openEvery: number;
  readonly log: string | undefined;
  readonly reconnectMs: readonly [number, number];
  readonly keepAliveMs: number;
  readonly returnTimeoutMs: readonly [number, number];
  readonly returnSends: number;
}

/** A storm, and its kind of requests. */
export type LoadOrder =
  | { readonly of: 'log-in' | 'connect' }
  | {
      readonly of: 'return';
      readonly jids: readonly string[];
      readonly returnBytes: number | undefined;
    }
  | { readonly of: 'event'; readonly tag: string; readonly dataBytes: number }
  | { readonly of: 'publish'; readonly body: Uint8Array };

/** An order of the parent to a child. */
export type Order =
  | { readonly kind: 'start'; readonly plan: ChildPlan }
  | { readonly kind: 'load'; readonly order: LoadOrder; readonly loop: LoopOptions }
  /** Begins to measure the process, for a later `follow`. */
  | { readonly kind: 'watch' }
  | {
      readonly kind: 'follow';
      readonly jid: string;
      /** Minions of this child that the job is for. */
      readonly expected: number;
      readonly sinceMs: number;
      /** A time of the monotonic clock. */
      readonly untilMs: number;
    }
  | { readonly kind: 'stats' }
  | { readonly kind: 'close' };

/** Resources that a process used while it was watched. */
export interface Effort {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly cpuShare: number;
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
}

/** Answers of a child by kind of order. */
export interface Answers {
  readonly start: undefined;
  readonly load: { readonly report: LoopReport; readonly effort: Effort };
  readonly watch: undefined;
  readonly follow: { readonly report: JobReport | undefined; readonly effort: Effort };
  readonly stats: ProcessStats;
  readonly close: undefined;
}

/** An order in flight; its answer has the same number. */
export interface Envelope {
  readonly seq: number;
  readonly order: Order;
}

/** The answer to an order. */
export interface Reply {
  readonly seq: number;
  readonly value?: unknown;
  readonly error?: string;
}

import type { EventKind } from '@brine/job';
import type { EngineFigures, EventWish, Plain } from './engine.ts';
import type { EngineModule } from './engine-list.ts';

/** A message from the master to the process of an engine. */
export type ToEngine =
  | {
      readonly type: 'start';
      readonly name: string;
      readonly masterId: string;
      readonly module: EngineModule;
      readonly options: { readonly [key: string]: Plain };
      readonly saved: Plain;
    }
  | {
      readonly type: 'event';
      /** Counts from 1 in each process. */
      readonly number: number;
      readonly id: string;
      readonly kind: EventKind;
      readonly tag: string;
      readonly timeMs: number;
      readonly body: Uint8Array;
    }
  | { readonly type: 'answer'; readonly id: number; readonly value: Plain }
  | { readonly type: 'failure'; readonly id: number; readonly text: string }
  | { readonly type: 'stop' };

/** A message from the process of an engine to the master. */
export type FromEngine =
  /** The process can receive `start`. */
  | { readonly type: 'loaded' }
  /** The module has started. */
  | { readonly type: 'running' }
  | { readonly type: 'listen'; readonly wish: EventWish }
  | { readonly type: 'done'; readonly numbers: readonly number[] }
  | {
      readonly type: 'fire';
      readonly id: number;
      readonly tag: string;
      readonly body: Uint8Array;
    }
  | {
      readonly type: 'call';
      readonly id: number;
      readonly kind: 'runner' | 'wheel';
      readonly fun: string;
      readonly args: readonly Plain[];
      readonly kwargs: { readonly [key: string]: Plain };
    }
  | { readonly type: 'save'; readonly id: number; readonly value: Plain }
  | { readonly type: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly text: string }
  | { readonly type: 'tell'; readonly figures: EngineFigures }
  /** A restart would not help: a wrong option, no such module. */
  | { readonly type: 'refused'; readonly text: string }
  | { readonly type: 'failed'; readonly text: string };

const TYPES = new Set([
  ...['loaded', 'running', 'listen', 'done', 'fire', 'call', 'save', 'log', 'tell'],
  ...['refused', 'failed'],
]);

/** Recognizes a message of an engine's process among anything else in its channel. */
export function isFromEngine(message: unknown): message is FromEngine {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false;
  return typeof message.type === 'string' && TYPES.has(message.type);
}

/** Limits of one engine. */
export const LIMITS = {
  /** Events that are not processed. */
  events: 500,
  /** Bytes of their bodies. */
  eventBytes: 8 * 1024 * 1024,
  /** Concurrent fires and calls. */
  fires: 256,
  calls: 8,
  /** Size of a fired body, in bytes. */
  fireBytes: 16 * 1024 * 1024,
  /** The record of a run has 256 KiB, even if it can not be compressed (RUN_LIMITS.data). */
  savedBytes: 240 * 1024,
  /** Log lines per minute, and their length. */
  linesPerMinute: 200,
  lineChars: 2_000,
  figures: 32,
} as const;

import type { EventKind } from '@brine/job';
import type { EngineFigures, EventWish, Plain } from './engine.ts';
import type { EngineModule } from './engine-list.ts';

/** What the master says to the process of an engine. */
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
      /** Counted from 1 in each process. */
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

/** What the process of an engine says to the master. */
export type FromEngine =
  /** It can be told to start. */
  | { readonly type: 'loaded' }
  /** Its module has begun. */
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
  /** It can not run, and would not the next time: a wrong option, no such module. */
  | { readonly type: 'refused'; readonly text: string }
  | { readonly type: 'failed'; readonly text: string };

const TYPES = new Set([
  ...['loaded', 'running', 'listen', 'done', 'fire', 'call', 'save', 'log', 'tell'],
  ...['refused', 'failed'],
]);

/** Tells a message of an engine's process from anything else that came through its channel. */
export function isFromEngine(message: unknown): message is FromEngine {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false;
  return typeof message.type === 'string' && TYPES.has(message.type);
}

/** Bounds of what one engine may have under way. */
export const LIMITS = {
  /** Events that are not done. */
  events: 500,
  /** Bytes of their bodies. */
  eventBytes: 8 * 1024 * 1024,
  /** Events that it fires, calls that it makes. */
  fires: 256,
  calls: 8,
  /** A body that is fired, in bytes. */
  fireBytes: 16 * 1024 * 1024,
  /** The record of a run takes 256 KiB, of what does not compress too (RUN_LIMITS.data). */
  savedBytes: 240 * 1024,
  /** Lines for the log in a minute, and their length. */
  linesPerMinute: 200,
  lineChars: 2_000,
  figures: 32,
} as const;

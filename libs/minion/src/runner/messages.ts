import {
  isMap,
  listOf,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpackMap,
} from '@brine/wire';
import type { Outcome } from '../functions/run-function.ts';

/** A message to a runner: a packed {@link RunRequest}. */
export interface RunMessage {
  readonly type: 'run';
  readonly body: Uint8Array;
}

/** A message from a runner: that it is ready, or a packed {@link Outcome}. */
export type RunnerMessage =
  { readonly type: 'ready' } | { readonly type: 'done'; readonly body: Uint8Array };

/** A function to run. */
export interface RunRequest {
  readonly fun: string;
  readonly args: readonly SaltValue[];
  /** The publication, for functions that take any name. */
  readonly published: SaltMap;
}

// Packed with bin types: bytes that are valid UTF-8 must not become text.
export function packRequest(request: RunRequest): Buffer {
  const { fun, args, published } = request;
  return pack(mapOf({ fun, args: [...args], published }), 'bin');
}

export function readRequest(body: Uint8Array): RunRequest {
  const map = unpackMap(body);
  return {
    fun: textOf(map, 'fun') ?? '',
    args: listOf(map, 'args') ?? [],
    published: mapIn(map, 'published') ?? mapOf({}),
  };
}

export function packOutcome(outcome: Outcome): Buffer {
  return pack(mapOf({ ...outcome }), 'bin');
}

export function readOutcome(body: Uint8Array): Outcome {
  const map = unpackMap(body);
  const out = textOf(map, 'out');
  const retcode = map.get('retcode');
  return {
    return: map.get('return') ?? null,
    retcode: typeof retcode === 'number' ? retcode : 1,
    success: map.get('success') === true,
    ...(out === undefined ? {} : { out }),
  };
}

/** True for a valid message of a runner. */
export function isRunnerMessage(message: unknown): message is RunnerMessage {
  if (typeof message !== 'object' || message === null || isMap(message as SaltValue)) return false;
  const { type, body } = message as { readonly type?: unknown; readonly body?: unknown };
  return type === 'ready' || (type === 'done' && body instanceof Uint8Array);
}

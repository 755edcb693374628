import type { SaltMap, SaltValue } from '@brine/wire';

/** A parameter of a function that can be run on a minion. */
export interface Parameter {
  readonly name: string;
  /** Required without a default. */
  readonly default?: SaltValue;
}

/** The input of a function. */
export interface Call {
  /** By parameter name, with defaults filled in. */
  readonly named: ReadonlyMap<string, SaltValue>;
  /** Arguments beyond the parameters, if `takes` allows them. */
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
  /** Sets the exit code of the job; a job fails with any other code than 0. */
  setRetcode(code: number): void;
}

/** A function that can be run on a minion, as `test.ping`. */
export interface MinionFunction {
  /** Shown by `sys.doc`. */
  readonly doc: string;
  readonly parameters?: readonly Parameter[];
  /** Allowed further arguments: positional, named, or both. */
  readonly takes?: 'args' | 'kwargs' | 'both';
  /** The outputter for the return. */
  readonly out?: string;
  run(call: Call): SaltValue | Promise<SaltValue>;
}

/** Functions by their full names. */
export type FunctionTable = ReadonlyMap<string, MinionFunction>;

/** Thrown by a function for invalid arguments (Salt: SaltInvocationError). */
export class InvocationError extends Error {
  override readonly name = 'InvocationError';
}

/** Thrown by a function that failed (Salt: CommandExecutionError). */
export class ExecutionError extends Error {
  override readonly name = 'ExecutionError';
}

/** Thrown if arguments do not fit the parameters (Python: TypeError). */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/** The text given for a parameter. @throws InvocationError for other values */
export function textArgument(call: Call, name: string): string {
  const value = call.named.get(name);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw new InvocationError(`argument ${name} must be text`);
}

import type { SaltMap, SaltValue } from '@brine/wire';

/** A parameter of a function that can be run on a minion. */
export interface Parameter {
  readonly name: string;
  /** Without one the argument must be given. */
  readonly default?: SaltValue;
}

/** What a function is given. */
export interface Call {
  /** By the parameters' names; defaults filled in. */
  readonly named: ReadonlyMap<string, SaltValue>;
  /** Arguments beyond the parameters, where `takes` allows them. */
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
  /** Sets the exit code of the job; a job with another one than 0 has failed. */
  setRetcode(code: number): void;
}

/** A function that can be run on a minion, as `test.ping`. */
export interface MinionFunction {
  /** Shown by `sys.doc`. */
  readonly doc: string;
  readonly parameters?: readonly Parameter[];
  /** Further arguments: any number, by name, or both. */
  readonly takes?: 'args' | 'kwargs' | 'both';
  /** Outputter that suits the return. */
  readonly out?: string;
  run(call: Call): SaltValue | Promise<SaltValue>;
}

/** Functions by their full names. */
export type FunctionTable = ReadonlyMap<string, MinionFunction>;

/** Thrown by a function whose arguments make no sense (Salt: SaltInvocationError). */
export class InvocationError extends Error {
  override readonly name = 'InvocationError';
}

/** Thrown by a function that could not do its work (Salt: CommandExecutionError). */
export class ExecutionError extends Error {
  override readonly name = 'ExecutionError';
}

/** Thrown where arguments do not fit the parameters (Python: TypeError). */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/** The text given for a parameter. @throws InvocationError for anything else. */
export function textArgument(call: Call, name: string): string {
  const value = call.named.get(name);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw new InvocationError(`argument ${name} must be text`);
}

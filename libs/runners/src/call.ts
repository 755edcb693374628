import { JobRecords, RefusedError } from '@brine/client';
import type { FunctionCall, FunctionOutcome } from '@brine/master';
import { errorText } from '@brine/tasks';
import { mapOf, type SaltMap } from '@brine/wire';
import {
  bindArguments,
  InvalidArgumentsError,
  invalidArgumentsText,
  UnknownKeywordError,
} from './arguments.ts';
import { tooDeep } from './depth.ts';
import {
  type GivenArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type Shown,
  type WheelFunction,
} from './function.ts';
import { refusal } from './given-values.ts';
import { refusedBecause } from './plain/refused.ts';
import { RUNNERS, WHEELS } from './table.ts';

/** The context of a function in a master, without the parts that {@link callFunction} adds. */
export type MasterContext = Omit<RunnerContext, 'jobs'>;

export function runnerNamed(name: string): RunnerFunction | undefined {
  return RUNNERS.get(name);
}

/** The parameters of a function; undefined if the table does not have it. */
export function signatureOf(
  kind: FunctionCall['kind'],
  name: string,
): Pick<RunnerFunction, 'parameters' | 'open'> | undefined {
  return (kind === 'runner' ? RUNNERS : WHEELS).get(name);
}

/** True if the table has a function of this kind and name. */
export function isKnown(kind: FunctionCall['kind'], name: string): boolean {
  return (kind === 'runner' ? RUNNERS : WHEELS).has(name);
}

/**
 * Calls a function in a master. A failure results in the text of Salt's event `ret`. Never rejects.
 */
export async function callFunction(
  call: Pick<FunctionCall, 'kind' | 'fun' | 'args' | 'kwargs'>,
  context: MasterContext,
): Promise<FunctionOutcome> {
  const fun = (call.kind === 'runner' ? RUNNERS : WHEELS).get(call.fun);
  if (fun === undefined) {
    const refused = refusedBecause(call.kind, call.fun);
    if (refused !== undefined) return { value: refused, success: false, retcode: 1 };
    return failure(call, `'${call.fun}' is not available.`);
  }
  try {
    const shown =
      call.kind === 'runner'
        ? await runFunction(fun as RunnerFunction, call, context)
        : { value: await runWheel(fun as WheelFunction, call, context) };
    return outcomeOf(shown);
  } catch (error) {
    return explained(fun, call, error);
  }
}

/**
 * Runs a runner and resolves with its result.
 * @throws the errors of the function; RefusedError inside too many other calls
 */
export async function runFunction(
  fun: RunnerFunction,
  given: GivenArguments,
  context: MasterContext,
): Promise<Shown> {
  checkDepth(fun, context);
  const jobs = new JobRecords(context.client);
  const shown = await fun.run(bindArguments(fun, given), { ...context, jobs });
  if (shown.pages === undefined) return shown;
  const { pages, ...rest } = shown;
  const value: SaltMap = new Map();
  for await (const page of pages) for (const [key, one] of page) value.set(key, one);
  return { ...rest, value };
}

function checkDepth({ name }: Pick<RunnerFunction, 'name'>, { master }: MasterContext): void {
  const why = master && tooDeep(name, master.call.depth ?? 0, master);
  if (why !== undefined) throw refusal(why);
}

async function runWheel(fun: WheelFunction, given: GivenArguments, context: MasterContext) {
  return fun.run(bindArguments(fun, given), masterOf(context));
}

/** The outcome for the event `ret`: a named outputter wraps the value, as in Salt. */
export function outcomeOf({ value, outputter, retcode = 0 }: Shown): FunctionOutcome {
  const returned = outputter === undefined ? value : mapOf({ data: value, outputter });
  return { value: returned, success: retcode === 0, ...(retcode === 0 ? {} : { retcode }) };
}

function explained(
  fun: Pick<RunnerFunction, 'doc'>,
  call: Pick<FunctionCall, 'kind' | 'fun'>,
  error: unknown,
): FunctionOutcome {
  if (error instanceof InvalidArgumentsError) {
    return { value: invalidArgumentsText(error, fun.doc), success: true };
  }
  // Salt then shows the list of functions.
  if (error instanceof UnknownKeywordError) {
    return { value: mapOf({ [call.fun]: fun.doc }), success: true };
  }
  if (error instanceof RefusedError) return { value: error.message, success: false, retcode: 1 };
  return failure(call, errorText(error));
}

function failure({ kind, fun }: Pick<FunctionCall, 'kind' | 'fun'>, text: string): FunctionOutcome {
  return { value: `Exception occurred in ${kind} ${fun}: ${text}`, success: false, retcode: 1 };
}

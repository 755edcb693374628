import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { RefusedError } from '../errors.ts';
import { JobRecords } from './job-records.ts';
import {
  bindArguments,
  InvalidArgumentsError,
  type RunnerContext,
  type RunnerFunction,
  UnknownKeywordError,
} from './runner-function.ts';

/** What a runner is called with. */
export interface RunnerCall {
  readonly fun: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/**
 * Runs a runner without a terminal. A failure gives the text that Salt's event `ret` has then.
 * Never rejects.
 */
export async function callRunner(
  fun: RunnerFunction | undefined,
  call: RunnerCall,
  { client, auditSeal, master }: Pick<RunnerContext, 'client' | 'auditSeal' | 'master'>,
): Promise<{ readonly value: SaltValue; readonly success: boolean }> {
  if (fun === undefined) return failure(call, `'${call.fun}' is not available.`);
  try {
    const given = bindArguments(fun, call);
    const jobs = new JobRecords(client);
    const { value, outputter } = await fun.run(given, {
      ...{ client, jobs, auditSeal, out: () => undefined },
      ...(master && { master }),
    });
    const asked = given.named.get('outputter');
    const shown = typeof asked === 'string' && asked === outputter;
    return { value: shown ? mapOf({ data: value, outputter: asked }) : value, success: true };
  } catch (error) {
    if (error instanceof InvalidArgumentsError || error instanceof UnknownKeywordError) {
      const text = `\nPassed invalid arguments: ${error.message}\n\nUsage:\n\n    ${fun.doc}\n`;
      return { value: text, success: true };
    }
    if (error instanceof RefusedError) return { value: error.message, success: false };
    return failure(call, error instanceof Error ? error.message : String(error));
  }
}

function failure({ fun }: RunnerCall, text: string): { value: string; success: false } {
  return { value: `Exception occurred in runner ${fun}: ${text}`, success: false };
}

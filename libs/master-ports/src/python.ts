import { type Bus, BusError } from '@brine/bus';
import { type Answering, ask, serve } from '@brine/bus/rpc';
import type { MasterOptions } from '@brine/config';
import { PythonCallError, type PythonCalls, type PythonUse } from '@brine/python-host';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';

/** The subject of calls of modules in Python. */
const CALLS = 'python.call';

/** Uses of Python modules in requests. */
const USES: readonly PythonUse[] = ['pillar', 'render'];

/** A minion waits 45 s for a pillar. */
const CALL_TIMEOUT_MS = 45_000;

/**
 * Calls Python modules in the processes that run functions, if `brine.python` names an interpreter.
 * These calls fire no events.
 */
export function askedPython({ brine }: MasterOptions, bus: Bus): PythonCalls | undefined {
  if (brine.python === '') return undefined;
  return {
    call: async (use, op, given) => {
      const question = mapOf({ use, op, given });
      const answer = await ask(bus, CALLS, question, CALL_TIMEOUT_MS).catch((err: unknown) => {
        throw err instanceof BusError ? new PythonCallError(...failureOf(err)) : err;
      });
      return readAnswer(answer);
    },
  };
}

/** Answers the calls of {@link askedPython}. */
export function servePython(bus: Bus, python: PythonCalls): Answering {
  return serve(bus, CALLS, async (question): Promise<SaltMap> => {
    const use = isMap(question) && USES.find((one) => one === question.get('use'));
    const op = isMap(question) ? textOf(question, 'op') : undefined;
    if (!isMap(question) || !use || op === undefined) throw new Error('no call of Python');
    try {
      const value = await python.call(use, op, mapIn(question, 'given') ?? mapOf({}));
      return mapOf({ value });
    } catch (err) {
      if (!(err instanceof PythonCallError)) throw err;
      const { code, message, python: raised } = err;
      return mapOf({ failed: mapOf({ code, message, raised }) });
    }
  });
}

function readAnswer(answer: SaltValue): SaltValue {
  const failed = isMap(answer) ? mapIn(answer, 'failed') : undefined;
  if (failed === undefined) return isMap(answer) ? (answer.get('value') ?? null) : null;
  throw new PythonCallError(
    (textOf(failed, 'code') ?? 'ended') as PythonCallError['code'],
    textOf(failed, 'message') ?? '',
    textOf(failed, 'raised'),
  );
}

function failureOf({ code, message }: BusError): [PythonCallError['code'], string] {
  if (code === 'BUS_TIMEOUT') return ['late', 'the process that runs Python did not answer'];
  if (code === 'BUS_NO_ANSWER') return ['busy', 'no process runs Python just now'];
  return ['ended', message];
}

import type { Bus } from '@brine/bus';
import { type Answering, askPatiently, serve } from '@brine/bus/rpc';
import { MasterUnavailableError } from '@brine/master';
import { isMap, mapOf, type SaltMap } from '@brine/wire';

/** Asks which functions there are; one process of the cluster answers. */
const KNOWN = 'functions.known';
const PATIENCE = { tryMs: 3_000, waitMs: 10_000, retryMs: 250 };

/** Answers which functions there are, in the process that knows them. */
export function serveFunctions(
  bus: Bus,
  answer: (question: SaltMap) => Promise<SaltMap>,
): Answering {
  return serve(bus, KNOWN, (question) => answer(isMap(question) ? question : mapOf({})));
}

/** The answer about functions. @throws MasterUnavailableError if no process answers */
export async function askFunctions(bus: Bus, question: SaltMap): Promise<SaltMap> {
  try {
    const answer = await askPatiently(bus, KNOWN, question, PATIENCE);
    return isMap(answer) ? answer : mapOf({});
  } catch (cause) {
    throw new MasterUnavailableError('no process knows the functions just now', { cause });
  }
}

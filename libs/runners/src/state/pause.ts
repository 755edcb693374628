import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyRepr, pyStr, typeName } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import { masterOf, type RunnerContext, type RunnerFunction } from '../function.ts';
import { numberGiven } from '../given-values.ts';
import { ALL_STATES, type PauseMessage } from './run-ledger.ts';

/**
 * Sends a message to an orchestration, in whichever process it runs. Nested orchestrations get it
 * too. As in Salt the result is empty; an event `progress` reports that the run is missing.
 */
async function send(context: RunnerContext, jid: SaltValue, message: SaltMap): Promise<void> {
  const id = pyStr(jid);
  const isSent = await masterOf(context).runs.send(id, message);
  if (!isSent) context.out(`No orchestration ${id} is under way.\n`);
}

function pausing(name: string, message: PauseMessage, doc: string, timed = false): RunnerFunction {
  return {
    name,
    parameters: [['jid'], ['state_id', null], ...(timed ? [['duration', null] as const] : [])],
    doc,
    async run({ named }, context) {
      const seconds = secondsOf(named.get('duration') ?? null);
      const id = named.get('state_id') ?? null;
      const sent = mapOf({
        word: message,
        state_id: id === null ? ALL_STATES : pyStr(id),
        duration: seconds > 0 ? seconds : undefined,
      });
      await send(context, named.get('jid') ?? null, sent);
      return { value: null };
    },
  };
}

/** Python's int() of a duration; 0: none. */
function secondsOf(duration: SaltValue): number {
  if (!isTruthy(duration)) return 0;
  const number = numberGiven(duration);
  if (number !== undefined && Number.isFinite(number)) return Math.trunc(number);
  if (typeof duration !== 'string') {
    const wanted = 'a string, a bytes-like object or a real number';
    throw new InvalidArgumentsError(
      `int() argument must be ${wanted}, not '${typeName(duration)}'`,
    );
  }
  if (/^\s*[+-]?\d+\s*$/.test(duration)) return Number(duration);
  throw new Error(`ValueError: invalid literal for int() with base 10: ${pyRepr(duration)}`);
}

const PAUSE =
  'Pauses an orchestration before a state. jid: its job id. state_id: the id of the state ' +
  '(default: the next one). duration: seconds after which it continues by itself (default: never).';
const RESUME =
  'Resumes an orchestration. jid: its job id. state_id: the id of the state that was paused ' +
  '(default: all).';
const KILL =
  'Ends an orchestration before a state; what runs already comes to its end. jid: its job id. ' +
  'state_id: the id of the state (default: the next one).';

/** `state.pause`, `state.resume` and `state.soft_kill` (salt/runners/state.py). */
export const PAUSE_RUNNER: readonly RunnerFunction[] = [
  pausing('state.pause', 'pause', PAUSE, true),
  pausing('state.set_pause', 'pause', PAUSE, true),
  pausing('state.resume', 'resume', RESUME),
  pausing('state.rm_pause', 'resume', RESUME),
  pausing('state.soft_kill', 'kill', KILL),
];

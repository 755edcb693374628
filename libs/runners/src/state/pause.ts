import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { masterOf, type RunnerContext, type RunnerFunction } from '../function.ts';
import { ALL_STATES, type PauseWord } from './run-ledger.ts';

/**
 * Leaves a word for an orchestration, wherever its worker is. Those that run within it hear it too.
 * As in Salt the result says nothing. An event `progress` says that there is no such run.
 */
async function tell(context: RunnerContext, jid: SaltValue, word: SaltMap): Promise<void> {
  const id = pyStr(jid);
  const isTold = await masterOf(context).runs.tell(id, word);
  if (!isTold) context.out(`No orchestration ${id} is under way.\n`);
}

function pausing(name: string, word: PauseWord, doc: string, timed = false): RunnerFunction {
  return {
    name,
    parameters: [['jid'], ['state_id', null], ...(timed ? [['duration', null] as const] : [])],
    doc,
    async run({ named }, context) {
      const seconds = Number(named.get('duration') ?? 0);
      const id = named.get('state_id') ?? null;
      const said = mapOf({
        word,
        state_id: id === null ? ALL_STATES : pyStr(id),
        duration: seconds > 0 ? Math.trunc(seconds) : undefined,
      });
      await tell(context, named.get('jid') ?? null, said);
      return { value: null };
    },
  };
}

const PAUSE =
  'Pauses an orchestration before a state. jid: its job id. state_id: the id of the state ' +
  '(default: the next one). duration: seconds after which it goes on by itself (default: never).';
const RESUME =
  'Lets an orchestration go on. jid: its job id. state_id: the id of the state that was paused ' +
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

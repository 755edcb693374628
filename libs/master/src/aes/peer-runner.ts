import type { AuditOutcome } from '@brine/job';
import { matchPcre } from '@brine/target';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { recordPeer } from '../audit-records.ts';
import { MINION_PREFIX } from '../clear/caller.ts';
import { withoutInternal } from '../clear/function-call.ts';
import { keptCaller } from '../clear/kept-caller.ts';
import { RUNNERS_FULL } from '../clear/special.ts';
import type { FunctionCall, MasterPorts } from '../ports/ports.ts';
import { minionCaller, type PeerCommand, rightsOf } from './peers.ts';

/** Longest wait for a runner, the limit of the gateway. The runner continues after it. */
const WAIT_MAX_MS = 20_000;

/**
 * `minion_runner` (salt/daemons/masterapi.py): runs a runner function that `peer_run` allows this
 * minion, as the master's own user, and answers with its result.
 */
export const minionRunner: PeerCommand = async (ports, request, minion, load) => {
  const call = allowedCall(ports, minion, load);
  const record = (outcome: AuditOutcome): void =>
    recordPeer(ports, request, { kind: 'runner', outcome, minion, load });
  if (call === undefined) {
    record('refused');
    ports.count('peer_runner_refused');
    return new Map();
  }
  const admission = await ports.functions.admits('runner', call.fun);
  if (admission === 'unknown') {
    record('not available');
    return `'${call.fun}' is not available.`;
  }
  if (admission === 'full') {
    record('busy');
    ports.count('runner_busy');
    return RUNNERS_FULL;
  }
  record('done');
  ports.count('peer_runner');
  return returned(ports, call);
};

/** The result of the runner; for a slow one Salt's text about the timeout. */
function returned(ports: MasterPorts, call: FunctionCall): Promise<SaltValue> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      ports.count('peer_runner_slow');
      resolve(`'${call.fun}' runner publish timed out`);
    }, WAIT_MAX_MS);
    ports.functions
      .call(call)
      .then(({ value }) => resolve(value), reject)
      .finally(() => clearTimeout(timer));
  });
}

function allowedCall(ports: MasterPorts, minion: string, load: SaltMap): FunctionCall | undefined {
  const fun = textOf(load, 'fun');
  const words = load.get('arg');
  if (fun === undefined || !Array.isArray(words)) return undefined;
  const rights = rightsOf(ports.rules.peerRun, minion);
  if (!rights.some((right) => typeof right === 'string' && matchPcre(right, fun))) return undefined;
  const listed = load.get('no_parse');
  const noParse = Array.isArray(listed) ? listed : [];
  // Parsed twice, as in Salt: before the runner is made, and by the runner.
  const parsed = ports.parseArguments(ports.parseArguments(words, noParse), noParse);
  const last = parsed.at(-1);
  const keywords = isMap(last) && last.get('__kwarg__') === true ? last : undefined;
  return {
    kind: 'runner',
    fun,
    jid: ports.nextJid(),
    user: ports.rules.runningUser,
    principal: minion,
    caller: keptCaller(minionCaller(ports, `${MINION_PREFIX}${minion}`)),
    args: keywords === undefined ? parsed : parsed.slice(0, -1),
    kwargs: withoutInternal(keywords ?? mapOf({})),
  };
}

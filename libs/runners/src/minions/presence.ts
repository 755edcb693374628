import { splitInput } from '@brine/client';
import { listOf, mapOf, type SaltMap } from '@brine/wire';
import { isTruthy } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerFunction,
  type RunnerMaster,
  type WheelFunction,
} from '../function.ts';

/** The accepted minions that are connected, with the address of each. */
async function connectedTo({ presence, keys }: RunnerMaster): Promise<ReadonlyMap<string, string>> {
  if (presence === undefined) throw new Error('no worker here looks after presence');
  const accepted = keys.accepted();
  return new Map([...(await presence.present())].filter(([id]) => accepted.has(id)));
}

const LOOPBACKS: ReadonlySet<string> = new Set(['127.0.0.1', '::1']);

/**
 * The address for `show_ip`. A minion on the master's own host connects over the loopback; it gets
 * the first other address in its grains (Salt: salt/utils/minions.py connected_ids).
 */
async function shownAddress(
  { minionData }: RunnerMaster,
  id: string,
  address: string,
): Promise<string> {
  if (!LOOPBACKS.has(address)) return address;
  const grains = (await minionData.fetch(id))?.grains;
  const answer = (grains && listOf(grains, address === '::1' ? 'ipv6' : 'ipv4')) ?? [];
  const other = answer.find((one) => typeof one === 'string' && !LOOPBACKS.has(one));
  return typeof other === 'string' ? other : address;
}

/** The argument `subset`: a list, or a text with commas. */
function subsetOf({ named }: BoundArguments): ReadonlySet<string> | undefined {
  const ids = splitInput(named.get('subset'));
  return ids === undefined ? undefined : new Set(ids);
}

const PARAMETERS: RunnerFunction['parameters'] = [
  ['subset', null],
  ['show_ip', false],
];

const MEANING =
  'A minion is connected while it has a connection to 4505 of any host; no command is sent to ' +
  'minions. subset: minion ids, a list or with commas. show_ip=True adds the address that each ' +
  'connects from, for one on a host of the master its first address that is no loopback';

function present(name: string): RunnerFunction {
  return {
    name,
    parameters: PARAMETERS,
    doc: `Lists the minions that are connected. ${MEANING}.`,
    async run(given, context) {
      const master = masterOf(context);
      // In Salt an empty subset means all here, and none in the negation.
      const subset = isTruthy(given.named.get('subset')) ? subsetOf(given) : undefined;
      const found = [...(await connectedTo(master))]
        .filter(([id]) => subset?.has(id) ?? true)
        .sort(([one], [other]) => (one < other ? -1 : 1));
      if (!isTruthy(given.named.get('show_ip'))) return { value: found.map(([id]) => id) };
      const shown: SaltMap = mapOf({});
      for (const [id, address] of found) shown.set(id, await shownAddress(master, id, address));
      return { value: shown };
    },
  };
}

function notPresent(name: string): RunnerFunction {
  return {
    name,
    parameters: PARAMETERS,
    doc:
      `Lists the accepted minions that are not connected. ${MEANING} that is connected, so it is ` +
      'without effect here, as in Salt.',
    async run(given, context) {
      const master = masterOf(context);
      const subset = subsetOf(given);
      const connected = await connectedTo(master);
      const absent = [...master.keys.accepted()].filter(
        (id) => !connected.has(id) && (subset?.has(id) ?? true),
      );
      return { value: absent.sort() };
    },
  };
}

/** The functions of the manage runner without a publish. Salt has many names for two of them. */
export const PRESENCE_RUNNER: readonly RunnerFunction[] = [
  ...['list_state', 'present', 'joined', 'allowed', 'alived', 'reaped'].map((name) =>
    present(`manage.${name}`),
  ),
  ...['list_not_state', 'not_present', 'not_joined', 'not_allowed', 'not_alived', 'not_reaped'].map(
    (name) => notPresent(`manage.${name}`),
  ),
];

const connected: WheelFunction = {
  name: 'minions.connected',
  parameters: [],
  doc: 'Lists the minions that are connected to 4505 of any host.',
  run: async (_given, master) => [...(await connectedTo(master)).keys()].sort(),
};

/** `minions.*` (salt/wheel/minions.py). */
export const MINIONS_WHEEL: readonly WheelFunction[] = [connected];

import type { EventMessage } from '@brine/bus/events';
import type { RecordMac } from '@brine/crypt';
import { isProven, MANAGE_ROOT, type ManageAct, manageActOf } from '@brine/reactor';
import type { ReactorAdmin } from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { listOf, mapOf, type SaltMap, textOf, unpackMap } from '@brine/wire';

export interface ManageParts {
  readonly admin: ReactorAdmin;
  /** A MAC for `MANAGE_PURPOSE`. */
  readonly mac: Pick<RecordMac, 'isOf'>;
  /** Id of the master, which `set_leader` names. */
  readonly id: string;
  readonly fire: (tag: string, data: SaltMap) => Promise<void>;
  readonly onTrouble: Trouble;
}

/**
 * Answers the runner `reactor` of a stock Salt on this host, which asks by events and waits for
 * events (salt/runners/reactor.py). The event-bus of the host has replaced the master's key in the
 * event by a proof; without a proof nothing is changed.
 */
export async function manageByEvent(event: EventMessage, parts: ManageParts): Promise<boolean> {
  const { tag, kind, proof, timeMs } = event;
  const act = manageActOf(tag);
  // The answers have tags of the same kind.
  if (kind !== 'local' || act === undefined) return false;
  const body = await event.fetch();
  if (!isProven(parts.mac, { tag, body, proof, timeMs })) {
    parts.onTrouble(`an event ${tag} without the key of the master was left alone`);
    return true;
  }
  const [answerTag, answer] = await ACTS[act](unpackMap(body), parts);
  await parts.fire(`${MANAGE_ROOT}/${answerTag}`, answer);
  return true;
}

type Act = (data: SaltMap, parts: ManageParts) => Promise<[tag: string, answer: SaltMap]>;

const ACTS: Readonly<Record<ManageAct, Act>> = {
  is_leader: async (_, { admin: care }) => [
    'leader/value',
    mapOf({ result: await care.isLeader() }),
  ],
  set_leader: async (data, { admin: care, id }) => {
    if (data.get('id') === id) await care.setLeader(data.get('value') !== false);
    return ['leader/value', mapOf({ result: await care.isLeader() })];
  },
  add: async (data, { admin: care }) => {
    const reactors = (listOf(data, 'reactors') ?? []).filter((file) => typeof file === 'string');
    const result = await care.add(textOf(data, 'event') ?? '', reactors);
    return ['add-complete', mapOf({ reactors: [...(await care.list())], result })];
  },
  delete: async (data, { admin: care }) => {
    const result = await care.remove(textOf(data, 'event') ?? '');
    return ['delete-complete', mapOf({ reactors: [...(await care.list())], result })];
  },
  list: async (_, { admin: care }) => [
    'list-results',
    mapOf({ reactors: [...(await care.list())] }),
  ],
};

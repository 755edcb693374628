import type { EventMessage } from '@brine/bus/events';
import type { ReactorCare } from '@brine/runners';
import { listOf, mapOf, type SaltMap, textOf, unpackMap, WireError } from '@brine/wire';

/** What answers stock runners of this host. */
export interface ManageParts {
  readonly care: ReactorCare;
  /** Whether a key is one of the master's own user. */
  readonly isOwnKey: (key: string) => boolean;
  /** Id of the master itself, which `set_leader` names. */
  readonly id: string;
  readonly fire: (tag: string, data: SaltMap) => Promise<void>;
  readonly onTrouble: (text: string, err?: unknown) => void;
}

const ROOT = 'salt/reactors/manage';

/**
 * Answers the runner `reactor` of a stock Salt on this host, which asks by events and waits for
 * others (salt/runners/reactor.py). An event without the master's key changes nothing.
 */
export async function manageByEvent(event: EventMessage, parts: ManageParts): Promise<boolean> {
  const { tag, kind } = event;
  const act = ACTS.find(([ending]) => tag.endsWith(`${ROOT}/${ending}`))?.[1];
  // The answers have tags of the same kind.
  if (kind !== 'local' || act === undefined) return false;
  const data = await dataOf(event);
  if (data === undefined) return false;
  if (!parts.isOwnKey(textOf(data, 'key') ?? '')) {
    parts.onTrouble(`an event ${tag} without the key of the master was left alone`);
    return true;
  }
  const [answerTag, answer] = await act(data, parts);
  await parts.fire(`${ROOT}/${answerTag}`, answer);
  return true;
}

type Act = (data: SaltMap, parts: ManageParts) => Promise<[tag: string, answer: SaltMap]>;

const ACTS: readonly (readonly [ending: string, act: Act])[] = [
  ['is_leader', async (_, { care }) => ['leader/value', mapOf({ result: await care.isLeader() })]],
  [
    'set_leader',
    async (data, { care, id }) => {
      if (data.get('id') === id) await care.setLeader(data.get('value') !== false);
      return ['leader/value', mapOf({ result: await care.isLeader() })];
    },
  ],
  [
    'add',
    async (data, { care }) => {
      const reactors = (listOf(data, 'reactors') ?? []).filter((file) => typeof file === 'string');
      const result = await care.add(textOf(data, 'event') ?? '', reactors);
      return ['add-complete', mapOf({ reactors: [...(await care.list())], result })];
    },
  ],
  [
    'delete',
    async (data, { care }) => {
      const result = await care.remove(textOf(data, 'event') ?? '');
      return ['delete-complete', mapOf({ reactors: [...(await care.list())], result })];
    },
  ],
  ['list', async (_, { care }) => ['list-results', mapOf({ reactors: [...(await care.list())] })]],
];

async function dataOf(event: EventMessage): Promise<SaltMap | undefined> {
  try {
    return unpackMap(await event.fetch());
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

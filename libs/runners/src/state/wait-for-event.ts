import type { StateCall, StateFunction } from '@brine/states';
import { matchGlob } from '@brine/target';
import { Wakeup } from '@brine/tasks';
import { intOf, isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyFloat, pyStr } from '@brine/wire/text';
import { type StateWorld, unlessCutOff } from './world.ts';

/** Longest wait for events, s: a week. */
const TIMEOUT_MAX_S = 7 * 86_400;

/** Limit of unread events; a step that falls behind more than this ends with a text. */
const WAITING_MAX = 100_000;

/** `salt.wait_for_event` (salt/states/saltmod.py). */
export function eventStates(world: StateWorld): readonly StateFunction[] {
  return [
    {
      name: 'salt.wait_for_event',
      parameters: [['name'], ['id_list'], ['event_id', 'id'], ['timeout', 300], ['node', 'master']],
      outside: true,
      run: (args, call) => waitForEvent(world, args, call),
    },
  ];
}

async function waitForEvent(world: StateWorld, args: SaltMap, call: StateCall): Promise<SaltMap> {
  const name = pyStr(args.get('name') ?? '');
  const ret = mapOf({ name, changes: mapOf({}), comment: '', result: false });
  if (call.test) {
    ret.set('comment', `Orchestration would wait for event '${name}'`);
    return ret.set('result', null);
  }
  if (args.get('node') !== 'master') {
    return ret.set('comment', 'Only the events of the master can be waited for: node: master');
  }
  const given = args.get('id_list') ?? null;
  const wanted = Array.isArray(given) ? [...given] : [given];
  const earlier = call.earlier ?? mapOf({});
  const startMs = intOf(earlier, 'start') ?? Math.floor(world.master.now());
  const left = new Wanted(wanted, listOf(earlier, 'seen') ?? []);
  const seconds = Math.min(Math.max(0, Number(args.get('timeout') ?? 300)), TIMEOUT_MAX_S);
  const outcome = await listenFor(world, call, {
    name,
    key: args.get('event_id') ?? 'id',
    left,
    startMs,
    from: textOf(earlier, 'from'),
    untilMs: startMs + seconds * 1000,
  });
  if (left.seen.length > 0) ret.set('changes', mapOf({ minions_seen: [...left.seen] }));
  if (outcome !== 'seen') return ret.set('comment', outcome);
  const took = pyFloat((world.master.now() - startMs) / 1000);
  ret.set('comment', `All events seen in ${took} seconds.`);
  return ret.set('result', true);
}

/** The identifiers that are still expected, and those that were seen. */
class Wanted {
  readonly seen: SaltValue[];
  readonly #left: SaltValue[];

  constructor(wanted: readonly SaltValue[], seen: readonly SaltValue[]) {
    this.seen = [...seen];
    this.#left = wanted.filter((id) => !seen.includes(id));
  }

  get isEmpty(): boolean {
    return this.#left.length === 0;
  }

  /** Takes the identifiers of an event; false if none of them is expected. */
  take(value: SaltValue): boolean {
    const named = Array.isArray(value) ? value : [value];
    const before = this.#left.length;
    for (const id of named) {
      const at = this.#left.indexOf(id);
      if (at < 0) continue;
      this.#left.splice(at, 1);
      this.seen.push(id);
    }
    return this.#left.length < before;
  }
}

interface Listening {
  /** A glob of tags. */
  readonly name: string;
  /** The field that identifies an event. */
  readonly key: SaltValue;
  readonly left: Wanted;
  readonly startMs: number;
  readonly untilMs: number;
  /** Position of the previous process in the events; undefined: start now. */
  readonly from: string | undefined;
}

/** An event that may be an expected one. */
interface Candidate {
  readonly data: () => Promise<SaltMap>;
  /** Reading resumes here after it. */
  readonly position: string;
}

/** Waits for the events; resolves with `seen`, or with why the wait ended without them. */
async function listenFor(
  world: StateWorld,
  call: StateCall,
  { name, key, left, startMs, untilMs, from }: Listening,
): Promise<string> {
  if (left.isEmpty) return 'seen';
  const waiting: Candidate[] = [];
  const news = new Wakeup();
  let isBehind = false;
  const onEvent = (tag: string, data: () => Promise<SaltMap>, position: string): void => {
    if (!matchGlob(name, tag)) return;
    if (waiting.length >= WAITING_MAX) isBehind = true;
    else waiting.push({ data, position });
    news.wake();
  };
  const listening = await world.master.listen(onEvent, from);
  // Another process resumes there, so that it gets the events between two owners.
  const note = (position: string): Promise<void> =>
    call.note(mapOf({ start: startMs, seen: [...left.seen], from: position }));
  try {
    await note(listening.position);
    for (;;) {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (!left.take(identifier(await next.data(), key))) continue;
        await note(next.position);
        if (left.isEmpty) return 'seen';
      }
      if (isBehind) return `More than ${WAITING_MAX} events came at once; some were not looked at.`;
      const restMs = untilMs - world.master.now();
      if (restMs <= 0) return 'Timeout value reached.';
      await unlessCutOff(news.wait(restMs), world.cutOff);
    }
  } finally {
    listening.close();
  }
}

/** The identifier in an event, or in the data inside it. */
function identifier(event: SaltMap, key: SaltValue): SaltValue {
  const own = event.get(key) ?? null;
  const inner = event.get('data');
  return own === null && isMap(inner) ? (inner.get(key) ?? null) : own;
}

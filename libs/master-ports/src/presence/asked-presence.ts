import type { Bus } from '@brine/bus';
import { askPatiently } from '@brine/bus/rpc';
import { MasterUnavailableError, type MinionPresence } from '@brine/master';
import { EVIDENCE, type KnownMinion } from '@brine/presence';
import { isMap, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';

/** The subject of questions to the owner. */
export const PRESENCE_QUESTIONS = 'presence.ask';

/** Timeout of one try, and of all tries together, ms. */
const TRY_MS = 2_000;
/** After an owner dies, its successor needs a lease to take over. */
const PRESENT_WAIT_MS = 15_000;
/** Shorter, because this only adds to other evidence. */
const KNOWN_WAIT_MS = 2_500;
const RETRY_MS = 500;

/** Presence as the owner reports it, from any process of the cluster. */
export class AskedPresence implements MinionPresence {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  async present(): Promise<ReadonlyMap<string, string>> {
    const answer = await this.#ask(mapOf({}), PRESENT_WAIT_MS);
    const found = new Map<string, string>();
    for (const [id, address] of answer) {
      if (typeof id === 'string' && typeof address === 'string') found.set(id, address);
    }
    return found;
  }

  async of(ids: readonly string[]): Promise<ReadonlyMap<string, KnownMinion>> {
    if (ids.length === 0) return new Map();
    const answer = await this.#ask(mapOf({ of: [...ids] }), KNOWN_WAIT_MS);
    return new Map(
      ids.flatMap((id) => {
        const known = mapIn(answer, id);
        return known === undefined ? [] : [[id, connectionIn(known)] as const];
      }),
    );
  }

  async #ask(question: SaltMap, waitMs: number): Promise<SaltMap> {
    try {
      const answer = await askPatiently(this.#bus, PRESENCE_QUESTIONS, question, {
        tryMs: TRY_MS,
        waitMs,
        retryMs: RETRY_MS,
      });
      if (isMap(answer)) return answer;
      throw new Error('an answer about presence that is no map');
    } catch (cause) {
      throw new MasterUnavailableError('no process knows which minions are connected just now', {
        cause,
      });
    }
  }
}

function connectionIn(known: SaltMap): KnownMinion {
  const number = (name: string): number => {
    const value = known.get(name);
    return typeof value === 'number' ? value : 0;
  };
  const named = textOf(known, 'evidence');
  const evidence = EVIDENCE.find((one) => one === named);
  return {
    present: known.get('present') === true,
    sinceMs: number('sinceMs'),
    goneMs: number('goneMs'),
    address: textOf(known, 'address') ?? '',
    ...(evidence === undefined ? {} : { evidence }),
  };
}

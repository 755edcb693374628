import { sleepUnless } from '@brine/tasks';
import { Options } from '../child/options.ts';
import type { EngineContext, EngineStart, Plain } from '../engine.ts';
import { isList, isObject } from '../engine-list.ts';
import { LIMITS } from '../protocol.ts';

const INTERVAL_S = 3_600;
const EXPIRE_S = 604_800;
/** Limit of keys deleted by one call. */
const AT_ONCE = 500;
/** Size of the record without the minions. */
const HEAD_BYTES = 100;

/** Time at which each absent minion was last present, unix seconds. */
export type LastSeen = ReadonlyMap<string, number>;

/** The result of the previous rounds. */
interface Judged {
  /** Time of the last round, unix seconds. */
  readonly at: number;
  readonly seen: LastSeen;
}

/**
 * Deletes the keys of accepted minions that were absent for a time (salt/engines/stalekey.py). The
 * record of a large site has room for absent minions only. A minion without a record counts as seen
 * just now.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const intervalS = options.number('interval', INTERVAL_S, { min: 1, max: 7 * 86_400 });
  const expireS = options.number('expire', EXPIRE_S, { min: 1, max: 10 * 365 * 86_400 });
  let last = readJudged(engine.saved());
  while (!engine.stopping.aborted) {
    last = await round(engine, last, expireS);
    await sleepUnless(intervalS * 1000, engine.stopping);
  }
};

async function round(engine: EngineContext, last: Judged, expireS: number): Promise<Judged> {
  const keys = await engine.call('wheel', 'key.list_all');
  const accepted = isObject(keys) ? textsOf(keys['minions']) : [];
  const present = textsOf(await engine.call('wheel', 'minions.connected'));
  const nowS = Math.floor(Date.now() / 1000);
  // If no minion at all is present, the master is likely cut off, so no key counts as stale.
  const isBlind = present.length === 0 && accepted.length > 0;
  if (isBlind) engine.log('warn', 'no minion is present: no key is judged in this round');
  const judged = isBlind
    ? { seen: shifted(last, nowS), stale: [] }
    : judge(last.seen, { accepted, present, nowS, expireS });
  for (let at = 0; at < judged.stale.length; at += AT_ONCE) {
    const minions = judged.stale.slice(at, at + AT_ONCE);
    engine.log('info', `deletes the keys of minions not seen for long: ${minions.join(', ')}`);
    await engine.call('wheel', 'key.delete_dict', [{ minions }]);
  }
  const deleted = judged.stale.length;
  engine.tell({ known: accepted.length - deleted, deleted, judged: nowS });
  await engine.save({ at: nowS, seen: Object.fromEntries(thatFit(judged.seen)) });
  return { at: nowS, seen: judged.seen };
}

/** Computes when each absent minion was last seen, and which keys are stale. */
export function judge(
  seen: LastSeen,
  facts: {
    readonly accepted: readonly string[];
    readonly present: readonly string[];
    readonly nowS: number;
    readonly expireS: number;
  },
): { readonly seen: LastSeen; readonly stale: readonly string[] } {
  const { accepted, nowS, expireS } = facts;
  const present = new Set(facts.present);
  const next = new Map<string, number>();
  const stale: string[] = [];
  for (const id of accepted) {
    if (present.has(id)) continue;
    const last = seen.get(id) ?? nowS;
    if (nowS - expireS > last) stale.push(id);
    else next.set(id, last);
  }
  return { seen: next, stale };
}

/**
 * Selects the minions that fit in the record: those absent for longest. After a restart the others
 * count as seen just now, which is the safe side.
 */
export function thatFit(seen: LastSeen): readonly (readonly [id: string, last: number])[] {
  let bytes = 0;
  return [...seen]
    .sort(([, one], [, other]) => one - other)
    .filter(([id, last]) => {
      bytes += Buffer.byteLength(JSON.stringify({ [id]: last }));
      return bytes <= LIMITS.savedBytes - HEAD_BYTES;
    });
}

/** A round that saw no minion must not bring any key nearer to its end. */
function shifted({ at, seen }: Judged, nowS: number): LastSeen {
  const byS = Math.max(0, nowS - at);
  return new Map([...seen].map(([id, last]) => [id, last + byS]));
}

function readJudged(saved: Plain): Judged {
  const { at, seen } = isObject(saved) ? saved : {};
  if (typeof at !== 'number' || !isObject(seen)) return { at: 0, seen: new Map() };
  const known = Object.entries(seen).flatMap(([id, last]) =>
    typeof last === 'number' ? [[id, last] as const] : [],
  );
  return { at, seen: new Map(known) };
}

function textsOf(value: Plain | undefined): readonly string[] {
  return isList(value) ? value.filter((one) => typeof one === 'string') : [];
}

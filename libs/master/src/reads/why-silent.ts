import { causeOfSilence, type Seen, type SilenceEvidence } from '@brine/job';
import type { KnownMinion } from '@brine/presence';
import { matchMinion } from '@brine/target';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';

/** Targets that a minion judges by its grains; for the others the master has the same data. */
const BY_GRAINS: ReadonlySet<string> = new Set(['grain', 'grain_pcre', 'ipcidr', 'compound']);

/** Limit of minions that are judged at once: each needs a read of its grains. */
const AT_ONCE = 100;

/** Terms of a compound target that grains do not decide: pillar, ranges, node groups. */
const OTHER_TERMS = /(?:^|[\s(])[IJRN]@/;

/**
 * Why minions of a job are silent: `{jid, ids?, after?}` → `{minions: {id: {cause, text}}, next}`,
 * a page at a time; null for an unknown jid. Adds the current key states and grains to the data of
 * the job cache.
 */
export async function whySilent(ports: MasterPorts, args: SaltMap): Promise<SaltValue> {
  const page = await ports.jobs.ask('silent', args);
  if (!isMap(page)) return null;
  const asked = (listOf(page, 'minions') ?? []).filter(isMap);
  const minions: SaltMap = new Map();
  const connections = await connectionsOf(
    ports,
    asked.map((minion) => textOf(minion, 'id') ?? ''),
  );
  const judge = async (minion: SaltMap): Promise<void> => {
    const id = textOf(minion, 'id') ?? '';
    const evidence = await evidenceOf(ports, page, minion, id);
    const connection = known('connection', connections.get(id));
    const { cause, text } = causeOfSilence({ ...evidence, ...connection });
    minions.set(id, mapOf({ cause, text }));
  };
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    await Promise.all(asked.slice(from, from + AT_ONCE).map(judge));
  }
  return mapOf({ minions, next: page.get('next') ?? null });
}

/** The connections of these minions; empty while presence is unknown. */
async function connectionsOf(
  ports: MasterPorts,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownMinion>> {
  try {
    return (await ports.presence?.of(ids)) ?? new Map<string, KnownMinion>();
  } catch (cause) {
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    // The data of the job cache are still useful.
    ports.count('why_without_presence');
    return new Map();
  }
}

async function evidenceOf(
  ports: MasterPorts,
  job: SaltMap,
  minion: SaltMap,
  id: string,
): Promise<SilenceEvidence> {
  const sightings = mapIn(minion, 'sightings') ?? mapOf({});
  const refused = mapIn(sightings, 'refused');
  const returnedMs = numberIn(minion, 'returnedMs');
  const elsewhere = textOf(minion, 'elsewhere');
  const key = ports.keys.cached(id) ?? (await ports.keys.fetch(id));
  return {
    publishedMs: numberIn(job, 'publishedMs') ?? 0,
    targeted: minion.get('targeted') === true,
    logInsMs: (listOf(minion, 'logInsMs') ?? []).filter((ms) => typeof ms === 'number'),
    unansweredBefore: numberIn(minion, 'unansweredBefore') ?? 0,
    ...known('deadlineMs', numberIn(job, 'deadlineMs')),
    ...known('messageBeforeMs', messageBefore(job, minion)),
    ...known('messageAfterMs', numberIn(minion, 'heardAfterMs')),
    ...known('returned', returnedMs && { atMs: returnedMs, ...known('elsewhere', elsewhere) }),
    ...known('running', seen(sightings, 'running')),
    ...known('notRunning', seen(sightings, 'not_running')),
    ...known('sentAgain', seen(sightings, 'sent_again')),
    ...known('expiredMs', numberIn(mapIn(sightings, 'expired') ?? mapOf({}), 'firstMs')),
    ...known(
      'refused',
      refused && {
        atMs: numberIn(refused, 'lastMs') ?? 0,
        reason: textOf(refused, 'reason') ?? 'no reason is kept',
      },
    ),
    ...known(
      'key',
      key && { state: key.state, denied: key.denied.length > 0, ...known('atMs', key.at) },
    ),
    ...known('grains', await grainsOf(ports, mapIn(job, 'load') ?? mapOf({}), id)),
  };
}

/** Compares the target with the stored grains; undefined if that decides nothing. */
async function grainsOf(
  { minionData }: MasterPorts,
  load: SaltMap,
  id: string,
): Promise<SilenceEvidence['grains']> {
  const tgtType = textOf(load, 'tgt_type') ?? 'glob';
  const tgt = load.get('tgt');
  if (!BY_GRAINS.has(tgtType)) return undefined;
  if (tgtType === 'compound' && (typeof tgt !== 'string' || OTHER_TERMS.test(tgt)))
    return undefined;
  const stored = await minionData.fetch(id);
  if (stored === undefined) return undefined;
  const delimiter = textOf(mapIn(load, 'kwargs') ?? mapOf({}), 'delimiter');
  const target = { tgt, tgtType, ...known('delimiter', delimiter) };
  const matches = matchMinion(target, { id, grains: stored.grains, pillar: undefined });
  return { matches, ...known('atMs', stored.updatedAt) };
}

/** The last message before the publication: a return or a log-in. */
function messageBefore(job: SaltMap, minion: SaltMap): number | undefined {
  const published = numberIn(job, 'publishedMs') ?? 0;
  const words = [numberIn(minion, 'heardBeforeMs'), ...(listOf(minion, 'logInsMs') ?? [])].filter(
    (ms) => typeof ms === 'number' && ms <= published,
  );
  return words.length === 0 ? undefined : Math.max(...words.map(Number));
}

function seen(sightings: SaltMap, kind: string): Seen | undefined {
  const found = mapIn(sightings, kind);
  if (found === undefined) return undefined;
  const lastMs = numberIn(found, 'lastMs') ?? 0;
  return {
    firstMs: numberIn(found, 'firstMs') ?? lastMs,
    lastMs,
    count: numberIn(found, 'count') ?? 1,
  };
}

function numberIn(map: SaltMap, key: string): number | undefined {
  const value = map.get(key);
  if (typeof value === 'number') return value;
  return typeof value === 'object' && value !== null && 'value' in value
    ? Number(value.value)
    : undefined;
}

/** An object with the field if its value is known, else an empty one. */
function known<Key extends string, Value>(
  key: Key,
  value: Value | undefined | 0 | false,
): { readonly [Name in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [Name in Key]?: Value };
}

import { readsAll } from '@brine/acl';
import { type EventKind, INNER_KINDS, isEventKind } from '@brine/job';
import { intOf, isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import { MasterUnavailableError } from '../errors.ts';
import type { EventPage, PageFrom, PageQuestion } from '../ports/event-pages.ts';
import type { MasterPorts } from '../ports/ports.ts';
import { authenticate, type ClearRequest, isStranger, notAllowed, refusalOf } from './caller.ts';

/** Limits of a page: events, and the wait for the first in ms. */
const EVENTS_MAX = 1_000;
const WAIT_MAX_MS = 1_500;

/** Length limit of a glob, a jid or a position. */
const TEXT_MAX = 1_024;

/**
 * Brine's own clear command `brine_events`: a page of events, for commands on the master's host.
 * Authenticated as a runner is. Events contain returns, so only callers with all rights may read
 * them.
 */
export async function busEvents(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const caller = await authenticate(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  if (!readsAll(caller.acl)) return refusalOf(notAllowed(caller));
  const args = load.get('args') ?? mapOf({});
  const question = isMap(args) ? readQuestion(args) : undefined;
  if (question === undefined) {
    ports.count('events_malformed');
    return buildErrorReply('SaltInvocationError', 'args ask for no page of events');
  }
  if (ports.pages === undefined) {
    return buildErrorReply('SaltInvocationError', 'This master keeps no events');
  }
  // The client chooses how long this waits for events.
  request.stepAside?.();
  try {
    return mapOf({ value: writePage(await ports.pages.page(question)) });
  } catch (cause) {
    if (cause instanceof RangeError) return buildErrorReply('SaltInvocationError', cause.message);
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    ports.count('events_unavailable');
    return buildErrorReply('SaltReqTimeoutError', `The events are unreachable: ${cause.message}`);
  }
}

/** Returns undefined for a malformed field. */
function readQuestion(args: SaltMap): PageQuestion | undefined {
  const from = readFrom(args);
  const kinds = readKinds(args.get('kinds'));
  const texts = ['tag', 'minion', 'jid'].map((name) => [name, args.get(name) ?? null] as const);
  const areTexts = texts.every(([, text]) => text === null || isShort(text));
  if (from === undefined || kinds === undefined || !areTexts) return undefined;
  const toMs = args.get('toMs') ?? null;
  if (toMs !== null && typeof toMs !== 'number') return undefined;
  const given = texts.filter(([, text]) => text !== null);
  return {
    from,
    ...(Object.fromEntries(given) as { tag?: string; minion?: string; jid?: string }),
    ...(toMs === null ? {} : { toMs }),
    ...(kinds.length === 0 ? {} : { kinds }),
    max: Math.min(Math.max(1, intOf(args, 'max') ?? EVENTS_MAX), EVENTS_MAX),
    waitMs: Math.min(Math.max(0, intOf(args, 'waitMs') ?? 0), WAIT_MAX_MS),
  };
}

function readFrom(args: SaltMap): PageFrom | undefined {
  const [position, timeMs, seq] = [textOf(args, 'from'), args.get('fromMs'), args.get('fromSeq')];
  if (position === 'now' || position === 'oldest') return position;
  if (position !== undefined) return isShort(position) ? { position } : undefined;
  if (typeof timeMs === 'number') return { timeMs };
  return typeof seq === 'number' ? { seq } : undefined;
}

function readKinds(value: SaltValue | undefined): readonly EventKind[] | undefined {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return undefined;
  const kinds = value.filter((one) => typeof one === 'string').filter(isEventKind);
  const areAll = kinds.length === value.length && !kinds.some((kind) => INNER_KINDS.has(kind));
  return areAll ? kinds : undefined;
}

function isShort(value: SaltValue): value is string {
  return typeof value === 'string' && value.length <= TEXT_MAX && !value.includes('\0');
}

function writePage({ events, next, even, over, notices }: EventPage): SaltMap {
  return mapOf({
    events: events.map(({ tag, kind, minion, timeMs, position, data }) =>
      mapOf({ tag, kind, minion, timeMs, position, data }),
    ),
    next,
    even,
    over,
    notices: [...notices],
  });
}

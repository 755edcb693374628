import { setTimeout as sleep } from 'node:timers/promises';
import {
  type LocalClient,
  MasterUnreachableError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import { isEventKind } from '@brine/job';
import {
  type EventPage,
  MasterUnavailableError,
  type PagedEvent,
  type PageFrom,
  type PageQuestion,
} from '@brine/master';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { RunnerContext } from '../function.ts';
import { refusal } from '../given-values.ts';

/** Gives pages of the bus of the cluster. */
export type AskPage = (question: PageQuestion) => Promise<EventPage>;

/** Which events are wanted. */
export type EventSearch = Omit<PageQuestion, 'max' | 'waitMs'>;

/** How events are followed. */
export interface Following {
  /** Goes on with what comes, for ever; else it ends with what there is. */
  readonly live: boolean;
  /** Most events. */
  readonly count?: number;
  /** A sentence about events that are not there, or about a master that does not answer. */
  readonly onNotice: (text: string) => void;
  /** Told after each page: reading can go on from here. */
  readonly onPosition?: (position: string) => void;
  /** Ends the following. */
  readonly signal?: AbortSignal;
}

/** Events of one page, and how long the master waits for the first of a live one, in ms. */
const PAGE_EVENTS = 500;
const WAIT_MS = 1_000;

/** A master that restarts, or whose NATS does, is asked again so often for so long, in ms. */
const RETRY_MS = 500;
const GIVE_UP_MS = 120_000;

/** Where a function gets pages: in a master from itself, at a command line from the master. */
export function pageSource({ master, client }: Pick<RunnerContext, 'master' | 'client'>): AskPage {
  if (master === undefined) return (question) => askMaster(client, question);
  const { pages } = master;
  if (pages === undefined) throw refusal('This master keeps no events.');
  return (question) => pages.page(question);
}

/**
 * The events of a search, page by page. Where the master does not answer any more, it is asked
 * again from the same position, so that no event is left out and none comes twice.
 * @throws what `ask` throws for the first page, or for good, or for two minutes where not live
 */
export async function* followEvents(
  ask: AskPage,
  search: EventSearch,
  { live, count = Infinity, onNotice, onPosition, signal }: Following,
): AsyncGenerator<PagedEvent, void> {
  let from: PageFrom = search.from;
  for (let left = count; left > 0 && signal?.aborted !== true;) {
    const question = { ...search, from, max: Math.min(PAGE_EVENTS, left) };
    const isFirst = from === search.from;
    const waiting = { onNotice, live, isFirst, ...(signal === undefined ? {} : { signal }) };
    const page = await patiently(ask, { ...question, waitMs: live ? WAIT_MS : 0 }, waiting);
    if (page === undefined) return;
    for (const notice of page.notices) onNotice(notice);
    for (const event of page.events) {
      left -= 1;
      yield event;
    }
    from = { position: page.next };
    onPosition?.(page.next);
    if (page.over || (page.even && !live)) return;
  }
}

/** Asks until there is an answer; undefined where it was told to stop. */
async function patiently(
  ask: AskPage,
  question: PageQuestion,
  {
    onNotice,
    live,
    isFirst,
    signal,
  }: Pick<Following, 'onNotice' | 'live' | 'signal'> & { readonly isFirst: boolean },
): Promise<EventPage | undefined> {
  const giveUpAt = live ? Infinity : performance.now() + GIVE_UP_MS;
  let isPrinted = false;
  while (signal?.aborted !== true) {
    try {
      return await ask(question);
    } catch (error) {
      if (isFirst || !isPassing(error) || performance.now() > giveUpAt) throw error;
      if (!isPrinted) onNotice('The master does not answer; it is asked again.');
      isPrinted = true;
      await sleep(RETRY_MS);
    }
  }
  return undefined;
}

/** Whether the same question may have an answer later. */
function isPassing(error: unknown): boolean {
  if (error instanceof RefusedError) return error.name === 'SaltReqTimeoutError';
  return (
    error instanceof MasterUnreachableError ||
    error instanceof RequestTimeoutError ||
    error instanceof MasterUnavailableError
  );
}

async function askMaster(client: LocalClient, question: PageQuestion): Promise<EventPage> {
  const args = writeQuestion(question);
  const reply = await client.command(mapOf({ cmd: 'brine_events', args }));
  const page = mapIn(reply, 'value');
  const next = page && textOf(page, 'next');
  if (page === undefined || next === undefined) {
    throw refusal('The master gave no page of events; is it older than this command?');
  }
  return {
    events: (listOf(page, 'events') ?? []).filter(isMap).map(readEvent),
    next,
    even: page.get('even') === true,
    over: page.get('over') === true,
    notices: (listOf(page, 'notices') ?? []).filter((text) => typeof text === 'string'),
  };
}

function writeQuestion({ from, kinds, ...rest }: PageQuestion): SaltMap {
  return mapOf({ ...writeFrom(from), ...rest, kinds: kinds && [...kinds] });
}

function writeFrom(from: PageFrom): Record<string, SaltValue> {
  if (typeof from === 'string') return { from };
  if ('position' in from) return { from: from.position };
  return 'timeMs' in from ? { fromMs: from.timeMs } : { fromSeq: from.seq };
}

function readEvent(event: SaltMap): PagedEvent {
  const kind = textOf(event, 'kind') ?? '';
  const minion = textOf(event, 'minion');
  return {
    tag: textOf(event, 'tag') ?? '',
    kind: isEventKind(kind) ? kind : 'local',
    timeMs: Number(event.get('timeMs')),
    position: textOf(event, 'position') ?? '',
    data: mapIn(event, 'data') ?? mapOf({}),
    ...(minion === undefined ? {} : { minion }),
  };
}

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

export type AskPage = (question: PageQuestion) => Promise<EventPage>;

/** Selects events. */
export type EventSearch = Omit<PageQuestion, 'max' | 'waitMs'>;

/** Options of {@link followEvents}. */
export interface Following {
  /** Waits for new events, without end; else ends after the stored ones. */
  readonly live: boolean;
  /** Limit of events. */
  readonly count?: number;
  /** Called with a sentence about missing events, or about a master that does not answer. */
  readonly onNotice: (text: string) => void;
  /** Called after each page with the position at which reading can resume. */
  readonly onPosition?: (position: string) => void;
  readonly signal?: AbortSignal;
}

/** Events of one page, and the master's longest wait for the first of a live one, in ms. */
const PAGE_EVENTS = 500;
const WAIT_MS = 1_000;

/** Interval and total time of retries while a master or its NATS restarts, in ms. */
const RETRY_MS = 500;
const GIVE_UP_MS = 120_000;

/** Makes the source of pages: in a master itself, at a command line the master. */
export function pageSource({ master, client }: Pick<RunnerContext, 'master' | 'client'>): AskPage {
  if (master === undefined) return (question) => askMaster(client, question);
  const { pages } = master;
  if (pages === undefined) throw refusal('This master keeps no events.');
  return (question) => pages.page(question);
}

/**
 * The events of a search, page by page. A master that stops answering is asked again from the same
 * position, so that no event is missing and none comes twice.
 * @throws the errors of `ask` for the first page, permanent ones, or after two minutes if not live
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

/** Asks until it gets an answer; undefined after an abort. */
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

/** True if the same question may succeed later. */
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

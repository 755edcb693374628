import { pythonJson } from '@brine/client';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { eventStamp } from '@brine/wire/frames';
import { pyStr } from '@brine/wire/text';
import type { BoundArguments, RunnerContext, RunnerFunction, Shown } from '../function.ts';
import { textGiven } from '../given-values.ts';
import { type EventSearch, followEvents, pageSource } from './event-source.ts';
import { FROM_WORDS, fromArgument, toArgument } from './from-argument.ts';
import { printable } from './printable.ts';

/** Events of one answer in a master, by default and at most; the answer itself is one event. */
const COUNT = 100;
const COUNT_MAX = 1_000;
/** Size after which such an answer ends. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;

/** Default start. */
const FROM = '1h';

/** `event.replay`: events that the master still has. */
export const EVENT_REPLAY: RunnerFunction = {
  name: 'event.replay',
  parameters: [
    ['from', FROM],
    ['to', null],
    ['tag', '*'],
    ['count', null],
    ['minion', null],
    ['jid', null],
  ],
  doc:
    `Shows events of the past, the oldest first. from: ${FROM_WORDS} (${FROM}). to: a time or an ` +
    'age (now). tag and minion: globs. jid: only events of that job. count: most events. ' +
    'In `brine run` each is a line: time, position, tag, data. In the master the answer is a ' +
    `dictionary with events and next, ${COUNT} events if count is not given, ${COUNT_MAX} at ` +
    'most; next is the from of what follows. brine.events_keep sets how long events are kept.',
  run: (given, context) => (context.master === undefined ? lines : answer)(given, context),
};

/** Prints a line for each event, and at the end the position at which to resume. */
async function lines(given: BoundArguments, context: RunnerContext): Promise<Shown> {
  const { out } = context;
  const count = countOf(given);
  let last: string | undefined;
  const following = {
    live: false,
    ...(count === undefined ? {} : { count }),
    onNotice: (text: string): void => out(`# ${text}\n`),
    onPosition: (position: string): void => void (last = position),
  };
  for await (const event of followEvents(pageSource(context), searchOf(given), following)) {
    const { tag, timeMs, position, data } = event;
    out(
      `${eventStamp(timeMs, true)}\t${position}\t${tag}\t${pythonJson(printable(data), false)}\n`,
    );
  }
  if (last !== undefined) out(`# next: ${last}\n`);
  return { value: null, outputter: 'quiet' };
}

async function answer(given: BoundArguments, context: RunnerContext): Promise<Shown> {
  const count = Math.min(countOf(given) ?? COUNT, COUNT_MAX);
  const notices: string[] = [];
  const events: SaltValue[] = [];
  let [bytes, next] = [0, ''];
  const following = {
    live: false,
    count,
    onNotice: (text: string): void => void notices.push(text),
    onPosition: (position: string): void => void (next = position),
  };
  for await (const event of followEvents(pageSource(context), searchOf(given), following)) {
    const { tag, timeMs, position, data } = event;
    bytes += pack(data).length;
    // The first one always: otherwise no call could get past it.
    if (bytes > ANSWER_MAX_BYTES && events.length > 0) break;
    events.push(mapOf({ tag, time: eventStamp(timeMs, true), position, data }));
    next = position;
  }
  return { value: mapOf({ events, next, ...(notices.length > 0 && { notices }) }) };
}

/** Reads the search from the arguments. @throws Error with a text for the caller */
export function searchOf({ named }: BoundArguments, nowMs = Date.now()): EventSearch {
  const tag = textGiven(named, 'tag') ?? '*';
  const [minion, jid] = [textGiven(named, 'minion'), textGiven(named, 'jid')];
  return {
    from: fromArgument('from', named.get('from') ?? FROM, nowMs),
    // Without an end a busy master would never finish.
    toMs: toArgument('to', named.get('to') ?? null, nowMs) ?? nowMs,
    ...(tag === '*' ? {} : { tag }),
    ...(minion === undefined ? {} : { minion }),
    ...(jid === undefined ? {} : { jid }),
  };
}

function countOf({ named }: BoundArguments): number | undefined {
  const count = named.get('count') ?? null;
  if (count === null) return undefined;
  const number = Number(count);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`count is no number above 0: ${pyStr(count)}`);
}

import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { StreamInfo } from '../connection/js-api.ts';
import { settledInfo, streamInfo } from '../connection/js-api.ts';
import { directGet, firstSince } from '../streams/direct-get.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';
import { markOf, parsePosition, type Place, printPosition } from './position.ts';

/** Where reading begins. */
export type TimelineFrom =
  /** Events from now on. */
  | 'now'
  /** Everything that is still kept. */
  | 'oldest'
  /** Events after a position of `printPosition`. */
  | { readonly position: string }
  /** Events stored from this time on, in ms since 1970. */
  | { readonly timeMs: number }
  /** From this message of EVENTS on, and the jobs from its time on. */
  | { readonly seq: number };

/** A notice to a reader about events that it does not get. */
export interface Notice {
  /**
   * `trimmed`: events from before the oldest kept one were asked for. `remade`: the streams are
   * others than those that were asked for. `restored`: a stream went back.
   */
  readonly kind: 'trimmed' | 'remade' | 'restored';
  /** One sentence. */
  readonly text: string;
}

/** Where both streams are read from. */
export interface Start {
  readonly places: { readonly events: Place; readonly publications: Place };
  readonly incarnations: { readonly events: string; readonly publications: string };
  readonly notices: readonly Notice[];
}

const FIRST_TIMEOUT_MS = 5_000;

/**
 * Finds where to begin in the streams as they are now.
 * @throws BusError `BUS_STREAM_AWAY`, `BUS_BAD_MESSAGE`, and as `Inbox.request` does
 */
export async function findStart(bus: Bus, from: TimelineFrom): Promise<Start> {
  const [events, publications] = await Promise.all([
    infoOf(bus, STREAMS.events),
    infoOf(bus, STREAMS.publications),
  ]);
  const incarnations = {
    events: events.incarnation,
    publications: publications.incarnation,
  };
  const mark = markOf(incarnations);
  const infos = await settled(bus, from, { events, publications }, mark);
  const found = await placesFor(bus, from, infos, mark);
  return { ...found, incarnations };
}

/**
 * The position at the end of both streams.
 * @throws BusError `BUS_STREAM_AWAY`, and as `Inbox.request` does
 */
export async function endOf(bus: Bus): Promise<string> {
  const { places, incarnations } = await findStart(bus, 'now');
  return printPosition({ ...places, mark: markOf(incarnations) });
}

/** The streams' state; waits for a new leader that may still lack what was read before. */
async function settled(bus: Bus, from: TimelineFrom, infos: Infos, mark: string): Promise<Infos> {
  if (typeof from !== 'object' || !('position' in from)) return infos;
  const position = parsePosition(from.position);
  if (position.mark !== mark) return infos;
  const infoOfSide = async (name: 'events' | 'publications'): Promise<StreamInfo> => {
    const { seq } = position[name];
    const { lastSeq, incarnation } = infos[name];
    if (seq <= lastSeq) return infos[name];
    return (await settledInfo(bus, STREAMS[name], { seq, incarnation })) ?? infos[name];
  };
  const [events, publications] = await Promise.all([
    infoOfSide('events'),
    infoOfSide('publications'),
  ]);
  return { events, publications };
}

interface Infos {
  readonly events: StreamInfo;
  readonly publications: StreamInfo;
}

type Found = Pick<Start, 'places' | 'notices'>;

async function placesFor(bus: Bus, from: TimelineFrom, infos: Infos, mark: string): Promise<Found> {
  if (from === 'now') return both(infos, ({ lastSeq }) => lastSeq);
  if (from === 'oldest') return both(infos, ({ firstSeq }) => firstSeq - 1);
  if ('position' in from) return placesAfter(from.position, infos, mark);
  if ('timeMs' in from) return placesSince(bus, from.timeMs, infos);
  return placesFrom(bus, from.seq, infos);
}

function both(infos: Infos, before: (info: StreamInfo) => number): Found {
  const place = (info: StreamInfo): Place => ({ seq: Math.max(0, before(info)) });
  const places = { events: place(infos.events), publications: place(infos.publications) };
  return { places, notices: [] };
}

function placesAfter(text: string, infos: Infos, mark: string): Found {
  const position = parsePosition(text);
  if (position.mark !== mark) {
    const text =
      'The position is of streams that are gone; they were made again. ' +
      'All events of the new ones follow.';
    const { places } = both(infos, ({ firstSeq }) => firstSeq - 1);
    return { places, notices: [{ kind: 'remade', text }] };
  }
  const notices: Notice[] = [];
  const place = (name: 'events' | 'publications'): Place => {
    const { place: found, notice } = placeIn(infos[name], position[name]);
    // One sentence is enough for both streams.
    if (notice !== undefined && notices.length === 0) notices.push(notice);
    return found;
  };
  const places = { events: place('events'), publications: place('publications') };
  return { places, notices };
}

/** Converts a place that was reached before to the stream as it is now. */
export function placeIn(
  info: Pick<StreamInfo, 'firstSeq' | 'lastSeq' | 'firstTime' | 'messages'>,
  asked: Place,
): { readonly place: Place; readonly notice?: Notice } {
  if (asked.seq > info.lastSeq) {
    const text =
      'The streams end before the position: they were restored from a copy. ' +
      'What came meanwhile may be missing.';
    return { place: { seq: info.lastSeq }, notice: { kind: 'restored', text } };
  }
  const next = asked.index === undefined ? asked.seq + 1 : asked.seq;
  if (next >= info.firstSeq) return { place: asked };
  return { place: { seq: info.firstSeq - 1 }, notice: trimmed(info) };
}

async function placesSince(bus: Bus, timeMs: number, infos: Infos): Promise<Found> {
  const [events, publications] = await Promise.all([
    firstSince(bus, STREAMS.events, timeMs, infos.events),
    firstSince(bus, STREAMS.publications, timeMs, infos.publications),
  ]);
  const isShort =
    isTrimmedSince(infos.events, timeMs) || isTrimmedSince(infos.publications, timeMs);
  return {
    places: { events: { seq: events - 1 }, publications: { seq: publications - 1 } },
    notices: isShort ? [trimmed(older(infos))] : [],
  };
}

async function placesFrom(bus: Bus, seq: number, infos: Infos): Promise<Found> {
  const { events, publications } = infos;
  const first = Math.max(seq, events.firstSeq);
  const found = await directGet(bus, STREAMS.events, { seq: first }, FIRST_TIMEOUT_MS);
  // A replica may lack the message yet: jobs from too long ago are better than a gap.
  const without = first > events.lastSeq ? Date.now() : Date.parse(events.firstTime);
  const timeMs = found === undefined ? without : found.timeUs / 1_000;
  const job = await firstSince(bus, STREAMS.publications, timeMs, publications);
  return {
    places: {
      events: { seq: Math.min(first - 1, events.lastSeq) },
      publications: { seq: job - 1 },
    },
    notices: seq < events.firstSeq && seq > 0 ? [trimmed(events)] : [],
  };
}

/** True if messages since a time were trimmed from a stream. */
export function isTrimmedSince(
  info: Pick<StreamInfo, 'firstSeq' | 'firstTime' | 'lastTime' | 'messages'>,
  timeMs: number,
): boolean {
  // The first message of a stream has the number 1.
  if (info.firstSeq <= 1) return false;
  // An empty stream still knows when its last message was stored.
  if (info.messages === 0) return Date.parse(info.lastTime) >= timeMs;
  return Date.parse(info.firstTime) > timeMs;
}

/** The stream that was trimmed further. */
function older({ events, publications }: Infos): StreamInfo {
  if (events.messages === 0) return publications.messages === 0 ? events : publications;
  if (publications.messages === 0) return events;
  const isLater = Date.parse(publications.firstTime) > Date.parse(events.firstTime);
  return isLater ? publications : events;
}

function trimmed({ messages, firstTime }: Pick<StreamInfo, 'messages' | 'firstTime'>): Notice {
  const since =
    messages === 0
      ? 'No older events are kept'
      : `Events before ${firstTime.slice(0, 19).replace('T', ' ')} UTC are not kept any more`;
  return { kind: 'trimmed', text: `${since} (brine.events_keep).` };
}

/** The notice if messages were trimmed before a reader reached them. */
export function overtakenNotice(messages: number): Notice {
  const text = `Up to ${messages} messages with events were dropped before they were read.`;
  return { kind: 'trimmed', text };
}

async function infoOf(bus: Bus, stream: StreamName): Promise<StreamInfo> {
  const info = await streamInfo(bus, stream);
  if (info === undefined) throw new BusError('BUS_STREAM_AWAY', `there is no stream ${stream}`);
  return info;
}

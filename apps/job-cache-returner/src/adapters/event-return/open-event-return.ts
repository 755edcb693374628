import type { Bus } from '@brine/bus';
import { Timeline } from '@brine/bus/timeline';
import type { MasterOptions } from '@brine/config';
import {
  EventReturn,
  type EventReturner,
  gatheringLimits,
  ReturnerError,
  ReturnerOptions,
  tagFilter,
} from '@brine/event-return';
import type { QuarantineRow } from '@brine/job-cache';
import type { PythonCalls } from '@brine/python-host';
import type { Metrics } from '@brine/service';
import { OutageRetry } from '@brine/storing';
import { sleepUnless } from '@brine/tasks';
import type { Log } from '@brine/telemetry';
import { EventMetrics, type MeasuredReturner } from './event-metrics.ts';
import { FileReturner } from './file-returner.ts';
import { PostgresReturner } from './postgres-returner.ts';
import { PythonReturner } from './python-returner.ts';
import { RefusedEvents, type RefusedEventsPorts, returnAgain } from './refused-events.ts';
import { serveReturners } from './returner-tasks.ts';
import { SyslogReturner } from './syslog-returner.ts';
import { ElasticsearchReturner, HttpReturner } from './web-returners.ts';

/** The parts of the return of events. */
export interface EventReturnParts extends Pick<RefusedEventsPorts, 'putAway' | 'count'> {
  readonly bus: Bus;
  readonly options: MasterOptions;
  /** Brine's own database. */
  readonly databaseUrl: string;
  /** Resolves once that database has its tables, or the service stops; never rejects. */
  readonly connected: Promise<void>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Aborted at a stop. */
  readonly signal: AbortSignal;
  /** Modules in Python, if the master has any. */
  readonly python: PythonCalls | undefined;
}

/** The running return of events. */
export interface RunningEventReturn {
  /** Passes an event from quarantine to its returner again. */
  again(row: QuarantineRow): Promise<boolean>;
  status(): object;
  /** Writes the gathered events, and ends. */
  close(): Promise<void>;
}

/** The file of Salt's returner `rawfile_json`. */
const EVENTS_FILE = '/var/log/salt/events';

/** Starts to return events to all returners in `event_return`, each independently. */
export function openEventReturn(parts: EventReturnParts): RunningEventReturn {
  const { options, log, metrics } = parts;
  const names = [...new Set(options.eventReturn)].filter((name) => name !== '');
  if (names.length === 0) return NOTHING;
  const counts = new EventMetrics(metrics);
  const refused = new RefusedEvents({
    putAway: parts.putAway,
    count: parts.count,
    warn: (text) => log.error(text),
    now: () => performance.now(),
  });
  const opened = names.flatMap((name) => {
    const returner = returnerNamed(name, parts);
    if (returner === undefined) return [];
    return [{ returner, ...eventReturn(returner, { parts, refused, counts }) }];
  });
  counts.expose(opened.map(({ measured }) => measured));
  const close = serveReturners({
    bus: parts.bus,
    host: options.brine.host,
    returners: opened.map(({ events }) => events),
    onTrouble: (text, err) => log.error({ err }, text),
  });
  return {
    again: (row) =>
      returnAgain(
        row,
        opened.map(({ returner }) => returner),
      ),
    status: () =>
      Object.fromEntries(
        opened.map(({ measured: { name, events, isAway } }) => [
          name,
          { writes: events.isOwner, away: isAway() },
        ]),
      ),
    close,
  };
}

const NOTHING: RunningEventReturn = {
  again: () => Promise.resolve(false),
  status: () => ({}),
  close: () => Promise.resolve(),
};

/** Undefined, with a line in the log, for a returner that can not be opened. */
function returnerNamed(name: string, parts: EventReturnParts): EventReturner | undefined {
  const { options, databaseUrl, connected, log, python } = parts;
  try {
    switch (name) {
      case 'pgjsonb':
      case 'postgres': {
        const warn = (text: string): void => log.warn({ returner: name }, text);
        return new PostgresReturner({ name, options, databaseUrl, connected, warn });
      }
      case 'rawfile_json': {
        const path = new ReturnerOptions(options, 'rawfile_json').text('filename');
        return new FileReturner(path ?? EVENTS_FILE, options.brine.host);
      }
      case 'elasticsearch':
        return new ElasticsearchReturner(options);
      case 'http':
        return new HttpReturner(options);
      case 'syslog':
        return new SyslogReturner(options);
      default:
        if (python !== undefined) return new PythonReturner(name, python);
        throw new ReturnerError('missing', 'it is a returner in Python; set brine.python');
    }
  } catch (error) {
    if (!(error instanceof ReturnerError)) throw error;
    log.error({ returner: name, err: error }, 'no events are returned there');
    return undefined;
  }
}

interface EventReturnNeeds {
  readonly parts: EventReturnParts;
  readonly refused: RefusedEvents;
  readonly counts: EventMetrics;
}

function eventReturn(
  returner: EventReturner,
  { parts, refused, counts }: EventReturnNeeds,
): { readonly events: EventReturn; readonly measured: MeasuredReturner } {
  const { bus, options, log, signal } = parts;
  const { name } = returner;
  const backoff = new OutageRetry(
    {
      onOutage: (err) =>
        log.error({ returner: name, err }, 'events wait: no answer of the returner'),
      onRecovered: (seconds) => log.info({ returner: name, seconds }, 'the returner is back'),
    },
    signal,
  );
  const { eventReturnQueue, eventReturnQueueMaxSeconds } = options;
  const fits = tagFilter(options.eventReturnWhitelist, options.eventReturnBlacklist);
  const events = new EventReturn({
    returner,
    openFeed: (from) => Timeline.open(bus, { from, fits: ({ tag }) => fits(tag) }),
    now: () => performance.now(),
    sleep: sleepUnless,
    limits: gatheringLimits(eventReturnQueue, eventReturnQueueMaxSeconds),
    maxEventSize: options.maxEventSize,
    retry: (work, isOutage) => backoff.retry(work, isOutage),
    quarantine: (event, error) => refused.keep(name, event, error),
    counts: counts.of(name),
    log: (level, text, err) => log[level]({ returner: name, err }, text),
  });
  return { events, measured: { name, events, isAway: () => backoff.waiting } };
}

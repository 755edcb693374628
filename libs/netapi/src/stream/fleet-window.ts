import { type MinionsFilter, minionsFilter } from '@brine/api/fleet';
import { type FleetIndex, pageOf } from '@brine/fleet';
import type { FleetFeed } from '../fleet/fleet-feed.ts';
import type { FleetSights } from '../fleet/fleet-sights.ts';
import type { Sight } from '../live/sight.ts';
import { facetsShown, fleetQuery, minionShown } from '../v1/fleet/minion-rows.ts';
import { RefusedRequest } from '../v1/problem.ts';
import type { LiveView, LiveViews } from './live-views.ts';
import type { Message, TopicPart, TopicSource } from './topic.ts';

/** Rows of a window; and the last place that one may have: more than any fleet. */
const ROWS_MAX = 500;
const PLACE_MAX = 10_000_000;

/** What windows of the fleet are made of. */
export interface FleetWindows {
  readonly views: LiveViews;
  readonly fleet: Pick<FleetFeed, 'whole' | 'index'>;
  readonly sights: FleetSights;
}

/** Some rows of a list of minions. */
interface Window {
  readonly filter: MinionsFilter;
  readonly first: number;
  readonly rows: number;
}

/** `minions:<query of /v1/minions>:<first>..<last>`: rows of the fleet as they change. */
export function minionsTopic(windows: FleetWindows): TopicSource {
  return {
    open: (argument = '') => {
      const window = windowOf(argument);
      if (typeof window === 'string') return `is no topic: ${window}`;
      return {
        isComputed: true,
        // It changes by buckets, too: no event counts for it.
        jids: new Set(),
        make: (sight, wake) => {
          const part = new FleetWindow(`minions:${argument}`, window, sight, windows);
          part.leave = windows.views.add(part, wake);
          return part;
        },
      };
    },
  };
}

/** A window; or why it is none, for example for a filter that a list would refuse. */
function windowOf(argument: string): Window | string {
  const [, text = '', from = '', to = ''] = /^(.*):(\d{1,8})\.\.(\d{1,8})$/.exec(argument) ?? [];
  const [first, last] = [Number(from), Number(to)];
  const rows = last - first + 1;
  if (from === '' || rows < 1 || rows > ROWS_MAX || last > PLACE_MAX) {
    return `minions has a filter, and a window of up to ${ROWS_MAX} rows`;
  }
  const { success, data: filter } = minionsFilter.safeParse(parametersOf(text));
  if (!success) return 'its filter is no query of /v1/minions';
  try {
    fleetQuery(filter, Date.now());
  } catch (error) {
    if (error instanceof RefusedRequest) return error.message;
    throw error;
  }
  return { filter, first, rows };
}

/** A parameter that comes again has a list of values, as in an address. */
function parametersOf(text: string): Record<string, unknown> {
  const given = new URLSearchParams(text);
  return Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const values = given.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

/** What a window shows, as JSON. */
interface Shown {
  readonly rows: readonly string[];
  readonly total: number;
  /** Empty if the filter does not ask for them. */
  readonly facets: string;
}

/** A window as the followers with one sight see it. */
class FleetWindow implements TopicPart, LiveView {
  readonly isPending = false;
  readonly size = 0;
  leave: () => void = () => undefined;
  readonly #topic: string;
  readonly #window: Window;
  readonly #sight: Sight;
  readonly #windows: FleetWindows;
  #index: FleetIndex | undefined;
  #version = -1;
  #now: Shown | undefined;
  /** What the followers have. */
  #sent: Shown | undefined;

  constructor(topic: string, window: Window, sight: Sight, windows: FleetWindows) {
    this.#topic = topic;
    this.#window = window;
    this.#sight = sight;
    this.#windows = windows;
  }

  get isStale(): boolean {
    const { index } = this.#windows.fleet;
    // Who is silent for an age changes with the time alone.
    const isTimed = this.#window.filter.silentSince !== undefined;
    return (
      isTimed || index === undefined || index !== this.#index || index.version !== this.#version
    );
  }

  async compute(): Promise<boolean> {
    const { fleet, sights } = this.#windows;
    const { filter, first, rows: limit } = this.#window;
    const { index } = await fleet.whole();
    const sight = await sights.of(index, this.#sight.reader);
    this.#index = index;
    this.#version = index.version;
    const query = { ...fleetQuery(filter, Date.now()), first, limit };
    const { rows, total, facets } = pageOf(index, sight, query);
    this.#now = {
      rows: rows.map((row) => JSON.stringify(minionShown(row))),
      total,
      facets: facets === undefined ? '' : JSON.stringify(facetsShown(facets)),
    };
    return this.#change() !== undefined;
  }

  take(): boolean {
    return false;
  }

  flush(): readonly Message[] {
    const change = this.#change();
    this.#sent = this.#now;
    return change === undefined ? [] : [change];
  }

  begun(): readonly Message[] {
    return this.#sent === undefined ? [] : [this.#message(this.#sent, undefined)];
  }

  close(): void {
    this.leave();
  }

  /** What the followers do not have yet. */
  #change(): Message | undefined {
    const [now, sent] = [this.#now, this.#sent];
    if (now === undefined || now === sent) return undefined;
    const isSame =
      sent !== undefined &&
      now.total === sent.total &&
      now.facets === sent.facets &&
      now.rows.length === sent.rows.length &&
      now.rows.every((row, at) => row === sent.rows[at]);
    return isSame ? undefined : this.#message(now, sent);
  }

  #message({ rows, total, facets }: Shown, before: Shown | undefined): Message {
    const { first } = this.#window;
    const changed = rows.flatMap((row, at) =>
      row === before?.rows[at] ? [] : [`{"index":${first + at},"minion":${row}}`],
    );
    const more = facets === (before?.facets ?? '') ? '' : `,"facets":${facets}`;
    const head = `"topic":${JSON.stringify(this.#topic)},"rows":[${changed.join(',')}]`;
    return { event: 'rows', data: `{${head},"counts":{"total":${total}${more}}}` };
  }
}

import { facetsOf, type FleetIndex } from '@brine/fleet';
import { parseTag } from '@brine/job';
import { hasFailed } from '@brine/wire/load';
import type { LiveEvent } from '../live/live-events.ts';
import type { Sight } from '../live/sight.ts';
import type { FleetWindows } from './fleet-window.ts';
import type { LiveView } from './live-views.ts';
import type { Message, TopicPart, TopicSource } from './topic.ts';

/** Messages are at least this far apart, ms. */
const SPACING_MS = 1_000;
const NO_JOBS = { began: 0, returns: 0, failed: 0 };

/** `overview`: the fleet in numbers as they change, and the jobs and returns since the last one. */
export function overviewTopic(windows: FleetWindows): TopicSource {
  return {
    open: (argument) =>
      argument === undefined
        ? {
            make: (sight, wake) => {
              const part = new OverviewPart(sight, windows);
              part.leave = windows.views.add(part, wake);
              return part;
            },
          }
        : 'is no topic: overview has no argument',
  };
}

/** Numbers of what the followers with one sight see. */
class OverviewPart implements TopicPart, LiveView {
  readonly size = 0;
  leave: () => void = () => undefined;
  readonly #sight: Sight;
  readonly #windows: FleetWindows;
  #index: FleetIndex | undefined;
  #version = -1;
  /** The fleet as JSON, and as the followers have it. */
  #fleet = '';
  #sent = '';
  #jobs = NO_JOBS;
  #sentMs = -Infinity;

  constructor(sight: Sight, windows: FleetWindows) {
    this.#sight = sight;
    this.#windows = windows;
  }

  get isStale(): boolean {
    const { index } = this.#windows.fleet;
    return index === undefined || index !== this.#index || index.version !== this.#version;
  }

  get isPending(): boolean {
    return this.#fleet !== this.#sent || this.#jobs !== NO_JOBS;
  }

  async compute(): Promise<boolean> {
    const { fleet, sights } = this.#windows;
    const { index } = await fleet.whole();
    const sight = await sights.of(index, this.#sight.reader);
    this.#index = index;
    this.#version = index.version;
    const { total, facets } = facetsOf(index, sight);
    this.#fleet = JSON.stringify({ total, key: facets.key, present: facets.present });
    return this.#fleet !== this.#sent;
  }

  /** Jobs that are seen as a whole count, as those of `/v1/overview`. */
  take({ tag, kind, data }: LiveEvent): boolean {
    const parsed = parseTag(tag);
    const isNew = parsed.kind === 'job-new' && kind === 'job';
    const isReturn = parsed.kind === 'job-return' && kind === 'ret';
    if ((!isNew && !isReturn) || !this.#sight.seesJob(parsed.jid)) return false;
    const { began, returns, failed } = this.#jobs;
    this.#jobs = isNew
      ? { began: began + 1, returns, failed }
      : { began, returns: returns + 1, failed: failed + Number(hasFailed(data)) };
    return true;
  }

  flush(nowMs: number, isAll: boolean): readonly Message[] {
    if (!this.isPending || (!isAll && nowMs - this.#sentMs < SPACING_MS)) return [];
    const fleet = this.#fleet === this.#sent ? '' : this.#fleet;
    const jobs = this.#jobs;
    this.#sentMs = nowMs;
    this.#sent = this.#fleet;
    this.#jobs = NO_JOBS;
    return [messageOf(fleet, jobs)];
  }

  begun(): readonly Message[] {
    return this.#sent === '' ? [] : [messageOf(this.#sent, NO_JOBS)];
  }

  close(): void {
    this.leave();
  }
}

function messageOf(fleet: string, jobs: typeof NO_JOBS): Message {
  const head = fleet === '' ? '' : `"fleet":${fleet},`;
  return { event: 'overview', data: `{${head}"jobs":${JSON.stringify(jobs)}}` };
}

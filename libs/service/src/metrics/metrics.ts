import { type ExpositionFormat, renderFamily } from './exposition.ts';
import type { Sample } from './metric-series.ts';
import type { Family } from './metric-series.ts';
import {
  CountSeries,
  type Exemplar,
  type Folding,
  HistogramSeries,
  type Labels,
} from './metric-series.ts';

export type { ExpositionFormat } from './exposition.ts';
export type { Exemplar, Labels } from './metric-series.ts';

/** A number that only grows. */
export interface Counter {
  add(by?: number, labels?: Labels): void;
  /** The same for fixed labels: no text is made at each call. */
  of(labels: Labels): { add(by?: number): void };
}

/** A number that goes up and down. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
}

/** A distribution of values. */
export interface Histogram {
  /** `traced` is called at most once a second for each bucket: an exemplar is an example. */
  observe(value: number, labels?: Labels, traced?: () => TracedBy | undefined): void;
  /** The same for fixed labels: no text is made at each call. */
  of(labels: Labels): { observe(value: number, traced?: () => TracedBy | undefined): void };
}

/** The trace that a value belongs to: 32 and 16 hexadecimal digits. */
export type TracedBy = Pick<Exemplar, 'traceId' | 'spanId'>;

/** Called at each scrape: one number, or one for each set of labels. */
export type Reading = () => number | readonly Sample[];

/** Upper bounds of histograms in seconds: from a local hop to the time-out of a minion. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Bounds of Salt 3008's histograms in milliseconds (salt/config `metrics:histogram_boundaries`).
 */
export const MILLISECOND_BUCKETS: readonly number[] = [
  1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000,
];

/** How long to wait for families at a scrape, in ms. */
const FAMILIES_WAIT_MS = 2_000;

interface Metric {
  readonly name: string;
  readonly type: Family['type'];
  readonly handle: object;
  readonly family: () => Family;
}

/**
 * The metrics of one process. The same name gives the same metric. Throws if a name is used for two
 * types, or a counter's does not end in `_total`: faults of the program.
 */
export class Metrics {
  readonly #metrics = new Map<string, Metric>();
  readonly #asked: (() => Promise<readonly Family[]>)[] = [];
  readonly #constant: Labels;
  readonly #folding: Folding = { folded: 0 };
  #failedReadings = 0;

  /** `constant`: labels of every number but those of {@link families}. */
  constructor(constant: Labels = {}) {
    this.#constant = constant;
    this.counterOf(
      'brine_metrics_folded_total',
      'Values counted under "other", because a metric had all the series that it may have.',
      () => this.#folding.folded,
    );
    this.counterOf(
      'brine_metrics_failed_readings_total',
      'Times that metrics could not be read from their source.',
      () => this.#failedReadings,
    );
  }

  counter(name: string, help: string): Counter {
    return this.#make(name, 'counter', () => {
      const series = new CountSeries(this.#folding);
      const handle: Counter = {
        add: (by = 1, labels = {}) => {
          if (by > 0) series.at(labels).value += by;
        },
        of: (labels) => {
          const one = series.at(labels);
          return { add: (by = 1) => void (one.value += Math.max(0, by)) };
        },
      };
      return { handle, family: () => ({ name, type: 'counter', help, samples: series.samples() }) };
    });
  }

  /** A counter that is kept elsewhere and read at each scrape. */
  counterOf(name: string, help: string, read: Reading): void {
    this.#make(name, 'counter', () => ({
      handle: {},
      family: () => ({ name, type: 'counter', help, samples: samplesOf(read()) }),
    }));
  }

  gauge(name: string, help: string): Gauge {
    return this.#make(name, 'gauge', () => {
      const series = new CountSeries(this.#folding);
      const handle: Gauge = { set: (value, labels = {}) => void (series.at(labels).value = value) };
      return { handle, family: () => ({ name, type: 'gauge', help, samples: series.samples() }) };
    });
  }

  /** A gauge that is read at each scrape. */
  gaugeOf(name: string, help: string, read: Reading): void {
    this.#make(name, 'gauge', () => ({
      handle: {},
      family: () => ({ name, type: 'gauge', help, samples: samplesOf(read()) }),
    }));
  }

  /** `buckets`: upper bounds, growing; seconds from 1 ms to 10 s when absent. */
  histogram(
    name: string,
    help: string,
    options: { readonly buckets?: readonly number[] } = {},
  ): Histogram {
    return this.#make(name, 'histogram', () => {
      const bounds = options.buckets ?? BUCKETS;
      const series = new HistogramSeries(bounds, this.#folding);
      const handle: Histogram = {
        observe: (value, labels = {}, traced) => series.at(labels).observe(value, traced),
        of: (labels) => series.at(labels),
      };
      const family = (): Family => {
        return { name, type: 'histogram', help, bounds, samples: series.samples() };
      };
      return { handle, family };
    });
  }

  /**
   * Families that are read at each scrape, without the constant labels. They are numbers of the
   * whole master, and one process serves them at a time. If they fail, the others are still served.
   */
  families(read: () => Promise<readonly Family[]>): void {
    this.#asked.push(read);
  }

  /** All metrics as text: Prometheus' own form 0.0.4, or OpenMetrics 1.0 with exemplars. */
  async text(format: ExpositionFormat = 'prometheus'): Promise<string> {
    const read = await Promise.all(this.#asked.map((ask) => this.#ask(ask)));
    const out: string[] = [];
    for (const { family } of this.#metrics.values()) {
      renderFamily(family(), { format, constant: this.#constant, out });
    }
    for (const family of read.flat()) renderFamily(family, { format, constant: {}, out });
    if (format === 'openmetrics') out.push('# EOF');
    return `${out.join('\n')}\n`;
  }

  async #ask(ask: () => Promise<readonly Family[]>): Promise<readonly Family[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), FAMILIES_WAIT_MS);
    });
    try {
      return await Promise.race([ask(), late]);
    } catch {
      this.#failedReadings += 1; // This metric shows the failure.
      return [];
    } finally {
      clearTimeout(timer);
    }
  }

  #make<T extends object>(
    name: string,
    type: Metric['type'],
    make: () => { handle: T; family: () => Family },
  ): T {
    if ((type === 'counter') !== name.endsWith('_total') && type !== 'gauge') {
      throw new Error(`metric ${name}: counters, and only they, end in _total`);
    }
    const existing = this.#metrics.get(name);
    if (existing) {
      if (existing.type === type) return existing.handle as T;
      throw new Error(`metric ${name} is a ${existing.type} already`);
    }
    const made = make();
    this.#metrics.set(name, { name, type, ...made });
    return made.handle;
  }
}

function samplesOf(read: number | readonly Sample[]): readonly Sample[] {
  return typeof read === 'number' ? [{ value: read }] : read;
}

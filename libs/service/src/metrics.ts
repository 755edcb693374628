/** Series of one metric; more are counted together, so that labels can not fill the memory. */
const SERIES_MAX = 1000;

type Labels = Readonly<Record<string, string>>;

/** A number that only grows. */
export interface Counter {
  add(by?: number, labels?: Labels): void;
}

/** A number that goes up and down. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
}

/** How long things take, in seconds. */
export interface Histogram {
  observe(seconds: number, labels?: Labels): void;
}

interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Lines of the text form, without HELP and TYPE. */
  readonly lines: () => string[];
}

/** Upper bounds of histograms in seconds: from a local hop to the time-out of a minion. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * The metrics of one process. The same name gives the same metric. It throws where a name is used
 * for two types, which is a fault of the program.
 */
export class Metrics {
  readonly #metrics = new Map<string, Metric & { readonly handle: Counter | Gauge | Histogram }>();

  counter(name: string, help: string): Counter {
    return this.#make(name, 'counter', help, () => {
      const series = new Series(name);
      const add = (by = 1, labels: Labels = {}): void => {
        if (by > 0) series.add(labels, by);
      };
      return { handle: { add }, lines: () => series.lines() };
    }) as Counter;
  }

  gauge(name: string, help: string): Gauge {
    return this.#make(name, 'gauge', help, () => {
      const series = new Series(name);
      const set = (value: number, labels: Labels = {}): void => series.set(labels, value);
      return { handle: { set }, lines: () => series.lines() };
    }) as Gauge;
  }

  /** A gauge that is asked when the metrics are read. */
  gaugeOf(name: string, help: string, read: () => number): void {
    const lines = (): string[] => [`${name} ${number(read())}`];
    this.#make(name, 'gauge', help, () => ({ handle: { set: () => undefined }, lines }));
  }

  histogram(name: string, help: string): Histogram {
    return this.#make(name, 'histogram', help, () => {
      const buckets = new Series(`${name}_bucket`);
      const sum = new Series(`${name}_sum`);
      const count = new Series(`${name}_count`);
      const observe = (seconds: number, labels: Labels = {}): void => {
        for (const bound of BUCKETS) {
          buckets.add({ ...labels, le: String(bound) }, seconds <= bound ? 1 : 0);
        }
        buckets.add({ ...labels, le: '+Inf' }, 1);
        sum.add(labels, seconds);
        count.add(labels, 1);
      };
      return {
        handle: { observe },
        lines: () => [...buckets.lines(), ...sum.lines(), ...count.lines()],
      };
    }) as Histogram;
  }

  /** All metrics in Prometheus' text format 0.0.4. */
  text(): string {
    const out: string[] = [];
    for (const { name, type, help, lines } of this.#metrics.values()) {
      out.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`);
      out.push(`# TYPE ${name} ${type}`, ...lines());
    }
    return `${out.join('\n')}\n`;
  }

  #make(
    name: string,
    type: Metric['type'],
    help: string,
    make: () => { handle: Counter | Gauge | Histogram; lines: () => string[] },
  ): Counter | Gauge | Histogram {
    const existing = this.#metrics.get(name);
    if (existing) {
      if (existing.type === type) return existing.handle;
      throw new Error(`metric ${name} is a ${existing.type} already`);
    }
    const metric = { name, type, help, ...make() };
    this.#metrics.set(name, metric);
    return metric.handle;
  }
}

class Series {
  readonly #name: string;
  readonly #values = new Map<string, number>();

  constructor(name: string) {
    this.#name = name;
  }

  add(labels: Labels, by: number): void {
    const key = this.#key(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + by);
  }

  set(labels: Labels, value: number): void {
    this.#values.set(this.#key(labels), value);
  }

  lines(): string[] {
    return [...this.#values].map(([key, value]) => `${this.#name}${key} ${number(value)}`);
  }

  #key(labels: Labels): string {
    const key = labelText(labels);
    if (this.#values.has(key) || this.#values.size < SERIES_MAX) return key;
    return labelText(Object.fromEntries(Object.keys(labels).map((name) => [name, 'other'])));
  }
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    return `${name}="${escaped}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function number(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

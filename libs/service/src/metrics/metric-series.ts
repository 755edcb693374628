/** One number of a family. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** A histogram: the number of values in each bucket (the last has no bound), and their sum. */
export interface HistogramSample {
  readonly labels?: Labels;
  /** One more than the family has bounds; not cumulative. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly exemplars?: readonly (Exemplar | undefined)[];
}

/** All numbers of one name. */
export type Family =
  | {
      readonly name: string;
      readonly type: 'counter' | 'gauge';
      readonly help: string;
      readonly samples: readonly Sample[];
    }
  | {
      readonly name: string;
      readonly type: 'histogram';
      readonly help: string;
      readonly bounds: readonly number[];
      readonly samples: readonly HistogramSample[];
    };

/** Names and values of a series' labels. */
export type Labels = Readonly<Record<string, string>>;

/** A value together with the trace it was seen in. */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId?: string | undefined;
  readonly value: number;
  /** Unix ms. */
  readonly atMs: number;
}

/** How many values were counted under `other`; shared by the metrics of a process. */
export interface Folding {
  folded: number;
}

/** Series of one metric; more are counted together, so that labels can not fill the memory. */
const SERIES_MAX = 1000;

/** How long a bucket keeps its exemplar: finding a trace costs more than counting. */
const EXEMPLAR_EVERY_MS = 1_000;

/** The series of one metric by their labels, bounded. */
class SeriesByLabels<T extends object> {
  readonly #byKey = new Map<string, { readonly labels: Labels; readonly series: T }>();
  readonly #make: () => T;
  readonly #folding: Folding;

  constructor(make: () => T, folding: Folding) {
    this.#make = make;
    this.#folding = folding;
  }

  at(labels: Labels): T {
    const key = keyOf(labels);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known.series;
    if (this.#byKey.size >= SERIES_MAX) {
      this.#folding.folded += 1;
      const other = Object.fromEntries(Object.keys(labels).map((name) => [name, 'other']));
      return this.#byKey.get(keyOf(other))?.series ?? this.#add(keyOf(other), other);
    }
    return this.#add(key, labels);
  }

  protected entries(): Iterable<{ readonly labels: Labels; readonly series: T }> {
    return this.#byKey.values();
  }

  #add(key: string, labels: Labels): T {
    const series = this.#make();
    this.#byKey.set(key, { labels, series });
    return series;
  }
}

function keyOf(labels: Labels): string {
  let key = '';
  for (const name in labels) key += `${name}\0${labels[name] ?? ''}\0`;
  return key;
}

/** Numbers by labels. */
export class CountSeries extends SeriesByLabels<{ value: number }> {
  constructor(folding: Folding) {
    super(() => ({ value: 0 }), folding);
  }

  samples(): { readonly labels: Labels; readonly value: number }[] {
    return Array.from(this.entries(), ({ labels, series }) => ({ labels, value: series.value }));
  }
}

/** Histograms by labels. */
export class HistogramSeries extends SeriesByLabels<Spread> {
  constructor(bounds: readonly number[], folding: Folding) {
    super(() => new Spread(bounds), folding);
  }

  samples(): {
    readonly labels: Labels;
    readonly counts: readonly number[];
    readonly sum: number;
    readonly exemplars: readonly (Exemplar | undefined)[];
  }[] {
    return Array.from(this.entries(), ({ labels, series }) => ({
      labels,
      counts: series.counts,
      sum: series.sum,
      exemplars: series.exemplars,
    }));
  }
}

/** Values counted by bucket. */
class Spread {
  readonly #bounds: readonly number[];
  readonly counts: number[];
  readonly exemplars: (Exemplar | undefined)[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
    this.exemplars = Array.from({ length: bounds.length + 1 }, () => undefined);
  }

  observe(value: number, traced?: () => Pick<Exemplar, 'traceId' | 'spanId'> | undefined): void {
    // NaN would spoil the sum for good.
    if (Number.isNaN(value)) return;
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? Infinity)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
    if (traced === undefined) return;
    const atMs = Date.now();
    if (atMs - (this.exemplars[at]?.atMs ?? 0) < EXEMPLAR_EVERY_MS) return;
    const found = traced();
    if (found !== undefined) this.exemplars[at] = { ...found, value, atMs };
  }
}

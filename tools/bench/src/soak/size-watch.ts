import type { ProcessTree, ServiceSize } from '../measure/process-tree.ts';
import { spreadOf } from '../measure/statistics.ts';
import { lookAtSizes } from '../measure/watch.ts';

type Sizes = Readonly<Record<string, ServiceSize>>;

/** A collected heap goes up and down within a minute, and backends come and go. */
const EVERY_MS = 5_000;

/**
 * What the services usually had within a minute: a single look at each minute's end would see
 * wherever a heap happens to stand between two collections.
 */
export class SizeWatch {
  readonly #tree: Pick<ProcessTree, 'sizes'>;
  readonly #ended = new AbortController();
  readonly #running: Promise<void>;
  #looks: Sizes[] = [];

  constructor(tree: Pick<ProcessTree, 'sizes'>, everyMs = EVERY_MS) {
    this.#tree = tree;
    const { signal } = this.#ended;
    this.#running = lookAtSizes(tree, everyMs, signal, (sizes) => this.#looks.push(sizes));
    // `take` and `close` reject with it.
    this.#running.catch(() => undefined);
  }

  /**
   * The median of each size since this was asked last.
   * @throws what a look has failed with.
   */
  async take(): Promise<Sizes> {
    await Promise.race([this.#running, Promise.resolve()]);
    if (this.#looks.length === 0) this.#looks.push(await this.#tree.sizes());
    const looks = this.#looks;
    this.#looks = [];
    return usualSizes(looks);
  }

  /** @throws what a look has failed with. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }
}

/** The median of each size, for each service over the looks that found it. */
export function usualSizes(looks: readonly Sizes[]): Sizes {
  const services = new Set(looks.flatMap((look) => Object.keys(look)));
  const usual = (name: string, of: (size: ServiceSize) => number): number => {
    const found = looks.flatMap((look) => (look[name] === undefined ? [] : [of(look[name])]));
    return Math.round(spreadOf(found)?.median ?? 0);
  };
  return Object.fromEntries(
    [...services].map((name) => [
      name,
      {
        rss: usual(name, ({ rss }) => rss),
        pss: usual(name, ({ pss }) => pss),
        own: usual(name, ({ own }) => own),
        descriptors: usual(name, ({ descriptors }) => descriptors),
      },
    ]),
  );
}

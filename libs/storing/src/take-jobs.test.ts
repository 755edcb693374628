import { expect, test } from 'vitest';
import { gather } from './take-jobs.ts';

/** A source that a test feeds. */
class Feed implements AsyncIterable<number> {
  readonly #items: number[] = [];
  #wake: () => void = () => undefined;
  #ended = false;

  put(...items: number[]): void {
    this.#items.push(...items);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<number, void> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

test('jobs that are there come in one group, which waits for no more', async () => {
  const feed = new Feed();
  const groups = gather(feed, 3);
  feed.put(1, 2, 3, 4, 5);
  expect((await groups.next()).value).toEqual([1, 2, 3]);
  expect((await groups.next()).value).toEqual([4, 5]);
  feed.put(6);
  expect((await groups.next()).value).toEqual([6]);
  feed.put(7);
  feed.end();
  expect((await groups.next()).value).toEqual([7]);
  expect((await groups.next()).done).toBe(true);
});

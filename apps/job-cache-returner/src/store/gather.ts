import { setImmediate as turn } from 'node:timers/promises';

/**
 * Groups what is there already, without waiting for more: one by one when little comes, up to `max`
 * when much does. Ends with its source.
 */
export async function* gather<T>(
  source: AsyncIterable<T>,
  max: number,
): AsyncGenerator<readonly T[], void> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const first = await next;
    if (first.done === true) return;
    const group = [first.value];
    next = iterator.next();
    while (group.length < max) {
      const more = await Promise.race([next, turn(undefined)]);
      if (more === undefined || more.done === true) break;
      group.push(more.value);
      next = iterator.next();
    }
    yield group;
  }
}

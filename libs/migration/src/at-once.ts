/**
 * Processes a source with limited concurrency, so that memory stays bounded. Rejects with the first
 * error, after the items in progress have ended.
 */
export async function eachAtOnce<T>(
  source: AsyncIterable<T>,
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failed: { readonly error: unknown } | undefined;
  for await (const one of source) {
    if (failed !== undefined) break;
    const task: Promise<void> = work(one)
      .catch((error: unknown) => void (failed ??= { error }))
      .finally(() => running.delete(task));
    running.add(task);
    if (running.size >= atOnce) await Promise.race(running);
  }
  await Promise.all(running);
  if (failed !== undefined) throw failed.error;
}

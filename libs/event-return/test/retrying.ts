/** Tries again at once, up to some times; then the process is to stop. */
export function retryUpTo(tries: number) {
  return async <T extends object>(
    work: () => Promise<T>,
    isOutage: (error: unknown) => boolean,
  ): Promise<T | undefined> => {
    for (let n = 0; n < tries; n += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isOutage(error)) throw error;
      }
    }
    return undefined;
  };
}

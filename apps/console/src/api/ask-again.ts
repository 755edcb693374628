import type { QueryClient } from '@tanstack/react-query';
import { ApiError } from './ask.ts';

/** What could not be asked for is asked for again so often, while a page shows it, ms. */
const AGAIN_MS = 5_000;

/**
 * Asks again for what failed for a reason that passes: a page that lost its source has it back by
 * itself. @returns ends it
 */
export function askAgain(queries: QueryClient): () => void {
  const timer = setInterval(() => {
    void queries.refetchQueries({
      type: 'active',
      predicate: ({ state: { error, fetchStatus } }) =>
        fetchStatus === 'idle' && error instanceof ApiError && error.retryable,
    });
  }, AGAIN_MS);
  return () => clearInterval(timer);
}

// What a test waits for may take its time on a busy machine: vitest gives up after one second, and
// says then of a slow machine what should be said of a fault.
import { vi } from 'vitest';

/** Below the time of a whole test, so that the wait itself says what did not come. */
const AT_LEAST_MS = 12_000;

const waitFor = vi.waitFor.bind(vi);
vi.waitFor = (callback, options = {}) => {
  const asked = typeof options === 'number' ? { timeout: options } : options;
  return waitFor(callback, { ...asked, timeout: Math.max(asked.timeout ?? 0, AT_LEAST_MS) });
};

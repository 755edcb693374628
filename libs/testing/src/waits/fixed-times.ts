// All fixed times of tests. Each is the thing under test: no event could end it. None proves that
// something does not come: see docs/internals/tests.md. The timer is looked up each time, so that
// time is virtual in a test with fake timers.

/** Lets a fault of the test last this long. */
export function faultLasts(ms: number): Promise<void> {
  return passes(ms);
}

/** The pace of a load: the time until the next request. */
export function loadPauses(ms: number): Promise<void> {
  return passes(ms);
}

/** The work of a stand-in, which takes this long. */
export function workTakes(ms: number): Promise<void> {
  return passes(ms);
}

/**
 * Waits until something is this old by a clock.
 *
 * @param _what the thing that grows old.
 */
export function growsOld(_what: string, ms: number): Promise<void> {
  return passes(ms);
}

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

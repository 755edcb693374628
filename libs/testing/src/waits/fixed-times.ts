// All fixed times of tests. Each is the thing under test: no event could end it. None is a proof
// that something does not come: see docs/internals/tests.md. The timer is looked up each time, so
// that time is virtual where a test has fake timers.

/** Lets a fault that the test has made last for so long. */
export function faultLasts(ms: number): Promise<void> {
  return passes(ms);
}

/** The pace of a load: the time until the next request. */
export function loadPauses(ms: number): Promise<void> {
  return passes(ms);
}

/** A stand-in's work, which takes so long. */
export function workTakes(ms: number): Promise<void> {
  return passes(ms);
}

/**
 * Waits until something is as old as a clock must see it.
 *
 * @param _what what grows old.
 */
export function growsOld(_what: string, ms: number): Promise<void> {
  return passes(ms);
}

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

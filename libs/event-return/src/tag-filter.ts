import { compileGlob, WorkError } from '@brine/target';

/**
 * Decides which tags are returned: those of the white list (empty: all), less those of the black
 * list (Salt: salt/utils/event.py EventReturn._filter; globs as in Python's fnmatch).
 */
export function tagFilter(
  white: readonly string[],
  black: readonly string[],
): (tag: string) => boolean {
  const [allows, denies] = [anyOf(white), anyOf(black)];
  if (white.length === 0 && black.length === 0) return () => true;
  return (tag) => (white.length === 0 || allows(tag)) && !denies(tag);
}

function anyOf(globs: readonly string[]): (tag: string) => boolean {
  const tests = globs.map((glob) => compileGlob(glob));
  return (tag) => tests.some((test) => judged(test, tag));
}

/** Minions choose tags too. A tag that takes too long to compare matches nothing. */
function judged(test: (tag: string) => boolean, tag: string): boolean {
  try {
    return test(tag);
  } catch (error) {
    if (error instanceof WorkError) return false;
    throw error;
  }
}

import { compileGlob } from '@brine/target';

/** Limit of globs of one engine. */
const GLOBS_MAX = 100;
const GLOB_CHARS_MAX = 1_000;

/**
 * Returns a test for tags that match one of the globs; without globs every tag matches.
 * @throws RangeError for too many globs
 */
export function tagFilter(globs: readonly string[] | undefined): (tag: string) => boolean {
  if (globs === undefined || globs.length === 0) return () => true;
  if (globs.length > GLOBS_MAX || globs.some((glob) => glob.length > GLOB_CHARS_MAX)) {
    throw new RangeError(`more than ${GLOBS_MAX} tags, or one that is too long`);
  }
  const matchers = globs.map((glob) => compileGlob(glob));
  return (tag) => matchers.some((matches) => matches(tag));
}

import { compileGlob } from '@brine/target';

/** Globs of one engine. */
const GLOBS_MAX = 100;
const GLOB_CHARS_MAX = 1_000;

/**
 * Whether a tag fits one of the globs; without globs every tag does.
 * @throws RangeError for more globs than an engine may have
 */
export function tagFilter(globs: readonly string[] | undefined): (tag: string) => boolean {
  if (globs === undefined || globs.length === 0) return () => true;
  if (globs.length > GLOBS_MAX || globs.some((glob) => glob.length > GLOB_CHARS_MAX)) {
    throw new RangeError(`more than ${GLOBS_MAX} tags, or one that is too long`);
  }
  const matchers = globs.map((glob) => compileGlob(glob));
  return (tag) => matchers.some((matches) => matches(tag));
}

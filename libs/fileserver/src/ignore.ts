import { compileGlob, compilePcre } from '@brine/target';

/** True for a path that is not served. */
export type Ignored = (path: string) => boolean;

/**
 * Compiles `file_ignore_regex` and `file_ignore_glob` (salt/fileserver/__init__.py
 * `is_file_ignored`): an expression may match anywhere in the path, a glob must match all of it.
 */
export function compileIgnored(regexes: readonly string[], globs: readonly string[]): Ignored {
  const tests = [...regexes.map(compileSearch), ...globs.map((glob) => compileGlob(glob))];
  if (tests.length === 0) return () => false;
  return (path) => tests.some((test) => test(path));
}

/** `re.search` with an engine that matches at the start. */
function compileSearch(regex: string): Ignored {
  const flags = /^\(\?[aiLmsux]+\)/.exec(regex)?.[0] ?? '';
  return compilePcre(`${flags}[\\s\\S]*?(?:${regex.slice(flags.length)})`);
}

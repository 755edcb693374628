import { type DebianPrograms, debianPrograms } from '../debian-programs.ts';

/** Thrown if there is no Chromium and none can be installed; the message has the reason. */
class ChromiumMissingError extends Error {
  override readonly name = 'ChromiumMissingError';
  readonly code = 'TEST_CHROMIUM';
}

const NAME = 'chromium-headless-shell';

const CHROMIUM: DebianPrograms<typeof NAME> = {
  package: NAME,
  names: [NAME],
  // All but those of each host, and those that draw by a graphics card.
  libraries: /^(?:chromium-common$|lib(?!c6|gcc|stdc|gl(?!ib)|llvm|z3|icu|elogind|debian))/,
  home: 'usr/lib/chromium',
  site: 'https://www.chromium.org',
  missing: (text, more) => new ChromiumMissingError(text, more),
};

/** A Chromium, with its needs in the environment. */
export interface Chromium {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Chromium without windows: the host's, or Debian's.
 * @throws ChromiumMissingError
 */
export async function chromiumProgram(): Promise<Chromium> {
  const { paths, env } = await debianPrograms(CHROMIUM, process.env);
  return { path: paths[NAME], env };
}

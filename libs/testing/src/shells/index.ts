import { type DebianPrograms, debianPrograms, type FoundPrograms } from '../debian-programs.ts';

/** Thrown if a shell is not there and cannot be installed; the message says why in one line. */
class ShellMissingError extends Error {
  override readonly name = 'ShellMissingError';
  readonly code = 'TEST_SHELL';
}

const missing = (text: string, options: ErrorOptions): ShellMissingError =>
  new ShellMissingError(text, options);

const SHELLS: { readonly [Name in 'zsh' | 'fish']: DebianPrograms<Name> } = {
  zsh: {
    package: 'zsh',
    names: ['zsh'],
    libraries: /^lib(?:cap2|gdbm)/,
    modules: /\/zsh\/[\d.]+$/,
    site: 'https://www.zsh.org',
    missing,
  },
  fish: {
    package: 'fish',
    names: ['fish'],
    libraries: /^libpcre2-32/,
    site: 'https://fishshell.com',
    missing,
  },
};

/**
 * A shell that completion is tested in: that of the host, or Debian's.
 * @throws ShellMissingError
 */
export function shellProgram<Name extends 'zsh' | 'fish'>(
  name: Name,
): Promise<FoundPrograms<Name>> {
  return debianPrograms<Name>(SHELLS[name], process.env);
}

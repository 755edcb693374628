import { type DebianPrograms, debianPrograms, type FoundPrograms } from '../debian-programs.ts';

/** Thrown if a shell is missing and cannot be installed; the message has the reason in one line. */
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
 * A shell to test completion in: the host's, or Debian's.
 * @throws ShellMissingError
 */
export function shellProgram<Name extends 'zsh' | 'fish'>(
  name: Name,
): Promise<FoundPrograms<Name>> {
  return debianPrograms<Name>(SHELLS[name], process.env);
}

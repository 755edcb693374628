/** Events of which Brine makes something else than stock Salt, and why. */
export const DIFFERENCES: Readonly<Record<string, string>> = {
  'glob-of-files':
    'Salt reads the files of a glob in the order of the directory, which is another one on each ' +
    'host; Brine reads them by name. Of two declarations with one id the later one counts',
};

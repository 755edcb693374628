/** Salt's names of commands, for links to this program, and the command that each is. */
export const LINK_NAMES: ReadonlyMap<string, string> = new Map([
  ['salt', 'salt'],
  ['salt-key', 'key'],
  ['salt-run', 'run'],
  ['salt-cp', 'cp'],
  ['salt-call', 'call'],
  ['salt-master', 'master'],
  ['salt-minion', 'minion'],
]);

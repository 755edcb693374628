/** Orchestrations of which Brine makes something else than stock Salt, and why. */
export const DIFFERENCES: Readonly<Record<string, string>> = {
  'function-fail-function': 'the text of a TypeError names the function as templates do',
  'jinja-error': 'the pillar of a stock master has the name of a class of its own',
  'parallel-runners': 'stock Salt 3008 loses its loader in threads and fails; here they run',
  'parallel-runners-plain': 'stock Salt 3008 loses its loader in threads and fails; here they run',
  runner: 'what an inner runner prints goes to the events of its own run, not to the terminal',
  'wait-for-event':
    'what an inner runner prints goes to the events of its own run, not to the terminal',
};

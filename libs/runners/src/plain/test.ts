import { mapOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { RunnerFunction } from '../function.ts';

const arg: RunnerFunction = {
  name: 'test.arg',
  parameters: [],
  open: 'any',
  doc: 'Shows the arguments it was given.',
  async run({ args, kwargs }) {
    const shown = new Map([...kwargs].filter(([key]) => !pyStr(key).startsWith('__')));
    return { value: mapOf({ args: [...args], kwargs: shown }) };
  },
};

/** The functions of the test runner. */
export const TEST_RUNNER: readonly RunnerFunction[] = [arg];

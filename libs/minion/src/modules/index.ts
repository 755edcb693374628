import type { FunctionTable } from '../functions/minion-function.ts';
import { cmdFunctions } from './cmd-functions.ts';
import { networkFunctions } from './network-functions.ts';
import { testFunctions } from './test-functions.ts';

/** The functions that run in other processes, because they touch the host or take long. */
export const hostFunctions: FunctionTable = new Map([
  ...testFunctions,
  ...cmdFunctions,
  ...networkFunctions,
]);

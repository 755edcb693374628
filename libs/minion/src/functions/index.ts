export { testFunctions } from '../modules/test-functions.ts';
export { bindArguments } from './bind.ts';
export { ArgumentError, InvocationError } from './minion-function.ts';

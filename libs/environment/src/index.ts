// The door: named exports only, types apart.
export type { Environment } from './environment.ts';
export {
  CHILD_VARIABLE,
  childEnvironment,
  forgetOwn,
  isOwn,
  letChildrenHave,
  operatorEnvironment,
} from './environment.ts';

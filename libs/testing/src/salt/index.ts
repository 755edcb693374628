export { withFileLock } from './file-lock.ts';
export { freePorts, SaltProcess, waitForPort } from './process.ts';
export { findPython } from './python.ts';
export {
  NEWEST_SALTS,
  newestOf,
  OLDEST_SALT,
  releaseOf,
  SALT_RELEASES,
  SALT_VERSIONS,
} from './recipe.ts';
export { SaltSandbox } from './sandbox.ts';
export { startTally } from './start-tally.ts';
export { saltCacheDir, saltVenv, SaltVenvError } from './venv.ts';

export type { SaltLine, SaltRelease, SaltVersion } from './recipe.ts';
export type { SaltPorts, SaltConfig, SaltHome, SaltOutput } from './sandbox.ts';
export type { SaltVenv, SaltVenvOptions } from './venv.ts';

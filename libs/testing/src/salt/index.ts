export { withFileLock } from './file-lock.ts';
export { freePorts, SaltProcess, waitForPort } from './process.ts';
export { NEWEST_SALTS, newestOf, OLDEST_SALT, releaseOf, SALT_VERSIONS } from './recipe.ts';
export { SaltSandbox } from './sandbox.ts';
export { startTally } from './start-tally.ts';
export { saltVenv, SaltVenvError } from './venv.ts';

export type { SaltVersion } from './recipe.ts';
export type { SaltPorts, SaltConfig, SaltHome, SaltOutput } from './sandbox.ts';
export type { SaltVenv } from './venv.ts';

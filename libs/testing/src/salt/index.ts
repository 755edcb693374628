export { withFileLock } from './file-lock.ts';
export { freePorts, waitForPort } from './ports.ts';
export { SaltProcess } from './salt-process.ts';
export type { SaltConfig, SaltHome, SaltPorts } from './sandbox.ts';
export { SaltSandbox } from './sandbox.ts';
export { startTally } from './start-tally.ts';

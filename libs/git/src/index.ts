export { placeTree } from './checkouts.ts';
export type { GitSettings } from './git.ts';
export { Git, GitPillarError } from './git.ts';
export { hold, isHeld, unlock, withLock } from './lock.ts';
export type { GitCall } from './run-git.ts';
export { runGit, streamGit } from './run-git.ts';
export type { Tree } from './tree.ts';
export { fileAt, readTree } from './tree.ts';

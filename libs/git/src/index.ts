export type { GitAccess } from './access.ts';
export { maySendPassword } from './access.ts';
export { checkoutOf } from './checkouts.ts';
export type { Refs } from './git-copy.ts';
export { GitCopy } from './git-copy.ts';
export type { GitCall } from './run-git.ts';
export { GitError, runGit, streamGit } from './run-git.ts';
export type { Tree } from './tree.ts';
export { fileAt, readTree } from './tree.ts';

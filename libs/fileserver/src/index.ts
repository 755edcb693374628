export type { FileBackend } from './backend.ts';
export { expandRoots } from './expand-roots.ts';
export { FileServer } from './file-server.ts';
export { readRemotes } from './git/remote-config.ts';
export type { GitfsOptions } from './gitfs.ts';
export { GitfsBackend } from './gitfs.ts';
export { compileIgnored } from './ignore.ts';
export { RootsBackend } from './roots.ts';
export { RootsChanges } from './roots-changes.ts';

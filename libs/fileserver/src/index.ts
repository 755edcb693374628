export type { FileBackend } from './backend.ts';
export { expandRoots } from './expand-roots.ts';
export { FileServer } from './file-server.ts';
export { readRemotes } from './git/remote-config.ts';
export { GitfsBackend } from './gitfs.ts';
export { compileIgnored } from './ignore.ts';
export { RootsBackend } from './roots.ts';

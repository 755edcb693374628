export { NO_FILES } from './backend.ts';
export { expandRoots } from './expand-roots.ts';
export { FileServer } from './file-server.ts';
export { GitConfigError, readRemotes } from './git/remote-config.ts';
export { GitfsBackend } from './gitfs.ts';
export { compileIgnored } from './ignore.ts';
export { RootsBackend } from './roots.ts';

export type { FileBackend, FileLists, FoundFile } from './backend.ts';
export type { FileHash, FileServerOptions, Found, Piece, PieceRequest } from './file-server.ts';
export type { RootsOptions } from './roots.ts';

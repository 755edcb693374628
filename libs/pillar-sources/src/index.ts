export { ClassTree, DEFAULT_CLASS_TREE } from './class-tree.ts';
export { askExternal } from './external.ts';
export { checkoutOf } from './git-checkouts.ts';
export { gitPillarRemotes } from './git-remotes.ts';
export { decryptAll } from './gpg.ts';
export { readHttp } from './http.ts';
export { readPostgres } from './postgres.ts';
export { RootFiles } from './root-files.ts';

export type { ExternalSettings } from './external-settings.ts';
export type { GitSettings } from './git.ts';
export type { GitPillarDefaults } from './git-remotes.ts';
export type { GpgSettings } from './gpg.ts';
export type { PostgresSettings } from './postgres.ts';

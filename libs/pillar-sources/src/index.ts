export { ClassTree, DEFAULT_CLASS_TREE } from './class-tree.ts';
export { askExternal } from './external.ts';
export { GitPillarError } from './git.ts';
export { checkoutOf } from './git-checkouts.ts';
export { gitPillarRemotes } from './git-remotes.ts';
export { GpgError, decryptAll } from './gpg.ts';
export { readHttp } from './http.ts';
export { readPostgres } from './postgres.ts';
export { RootFiles } from './root-files.ts';

export type { ExternalMinion, ExternalSettings } from './external-settings.ts';
export type { GitSettings } from './git.ts';
export type { GitPlace } from './git-checkouts.ts';
export type { GitPillarDefaults, GitPillarRemote } from './git-remotes.ts';
export type { GpgSettings } from './gpg.ts';
export type { PostgresSettings } from './postgres.ts';

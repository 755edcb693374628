export { grantedEntries, grantedTo, isBlacklisted, publisherAcl } from './grants.ts';
export type { SpecialKind } from './may-call.ts';
export { mayCall } from './may-call.ts';
export type { Reach } from './may-publish.ts';
export { mayPublish } from './may-publish.ts';
export type { FunctionKind, MinionJudge, MinionPart, Readable, Reader } from './may-read.ts';
export { mayRead, partJudge, readsAll, runJudge } from './may-read.ts';
export type { Acl, AclEntry, FunctionRule } from './rules.ts';
export { aclValue, readAcl } from './rules.ts';

export type { DebianTree } from './debian-tree.ts';
export { debianTree, HostLacksError, unpackTree } from './debian-tree.ts';
export type { NotifySocket } from './notify-socket.ts';
export { notifySocket } from './notify-socket.ts';
export { missingPrograms, OwnHost } from './own-host.ts';

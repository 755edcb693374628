export { commandLog } from './command-log.ts';
export { type Neighbour, openNats, openPostgres } from './neighbours.ts';
export { openServers, type Servers } from './open-servers.ts';
export { connectOwnBus, ownDatabaseUrl } from './own-servers.ts';

export { askCluster, silentHosts, silentTwice, troubleOf } from './cluster.ts';
export { drawCluster } from './draw-cluster.ts';
export { drawStatus, readStatus } from './host-status.ts';

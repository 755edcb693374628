export { silentHosts, troubleOf } from '../roll/roll.ts';
export { askCluster, silentTwice } from './cluster.ts';
export { drawCluster } from './draw-cluster.ts';
export { drawStatus, readStatus } from './host-status.ts';

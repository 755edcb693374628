export type { Cluster, ClusterService } from './roll.ts';
export { clusterOf, silentHosts, troubleOf } from './roll.ts';

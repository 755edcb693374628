export { HaproxyMissingError, checkBalancer, startBalancer } from './balancer.ts';
export type { Balancer } from './balancer.ts';
export { startNatsCluster } from './nats-cluster.ts';
export type { NatsCluster } from './nats-cluster.ts';
export { startPostgresPair } from './postgres-pair.ts';
export type { PostgresPair } from './postgres-pair.ts';

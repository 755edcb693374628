export { checkBalancer, HaproxyMissingError, startBalancer } from './balancer.ts';
export { startNatsCluster } from './nats-cluster.ts';
export { startPostgresPair } from './postgres-pair.ts';

export type { Balancer, BalancerOptions } from './balancer.ts';
export type { NatsCluster, NatsNode } from './nats-cluster.ts';
export type { PostgresPair } from './postgres-pair.ts';

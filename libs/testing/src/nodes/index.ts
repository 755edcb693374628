export type { Balancer, HttpBalancer } from './balancer.ts';
export {
  checkBalancer,
  HaproxyMissingError,
  startBalancer,
  startHttpBalancer,
} from './balancer.ts';
export { HostGroup } from './host-group.ts';
export type { NatsCluster } from './nats-cluster.ts';
export { startNatsCluster } from './nats-cluster.ts';
export type { PostgresPair } from './postgres-pair.ts';
export { startPostgresPair } from './postgres-pair.ts';

export { BrineMaster } from './brine/brine-master.ts';
export { scenes } from './failure/index.ts';
export { jobRow, returnLoad, returnRow } from './job-rows.ts';
export { mutated, randomFrom, seedFrames } from './mutated-frames.ts';
export { memoryMaster } from './master-ports.ts';
export { natsCertificates, startNats } from './nats.ts';
export { endPool } from './end-pool.ts';
export type { EndingPool } from './end-pool.ts';
export { LAYER_POSTGRES, makeDatabase } from './database.ts';
export { startPostgres } from './postgres.ts';
export { orphansOf, readRecordedSpans, spansOfRequest } from './recorded-spans.ts';
export { MemoryKeyFile, TestClock, TestMaster } from './test-master.ts';
export { vectorFile } from './vectors.ts';
export { ZmtpPeer } from './zmtp.ts';
export {
  findPython,
  freePorts,
  NEWEST_SALTS,
  newestOf,
  OLDEST_SALT,
  releaseOf,
  SALT_RELEASES,
  SALT_VERSIONS,
  saltCacheDir,
  SaltProcess,
  SaltSandbox,
  saltVenv,
  SaltVenvError,
  startTally,
  waitForPort,
} from './salt/index.ts';

export { kubernetesTools, KubernetesToolsMissingError, runTool } from './kubernetes/index.ts';
export {
  checkBalancer,
  HaproxyMissingError,
  startBalancer,
  startNatsCluster,
  startPostgresPair,
} from './nodes/index.ts';
export {
  postgresExporter,
  prometheusBinaries,
  PrometheusMissingError,
  promtool,
  startPrometheus,
} from './prometheus/index.ts';

export type {
  SaltConfig,
  SaltHome,
  SaltLine,
  SaltOutput,
  SaltPorts,
  SaltRelease,
  SaltVenv,
  SaltVenvOptions,
  SaltVersion,
} from './salt/index.ts';
export type { BrineMasterSettings, BrineOutput } from './brine/brine-master.ts';
export type { ServiceLine } from './brine/signs-of-life.ts';
export type { KubernetesTools, ToolOutput } from './kubernetes/index.ts';
export type {
  Balancer,
  BalancerOptions,
  NatsCluster,
  NatsNode,
  PostgresPair,
} from './nodes/index.ts';
export type { Mutated } from './mutated-frames.ts';
export type { MemoryMaster, MemoryMasterOptions } from './master-ports.ts';
export type { ZmtpPeerOptions } from './zmtp.ts';
export type { TestNats } from './nats.ts';
export type { RecordedSpan } from './recorded-spans.ts';
export type { TestDatabase } from './database.ts';
export type { TestPostgres } from './postgres.ts';
export type {
  Exemplar,
  LoadedRule,
  PrometheusBinaries,
  PrometheusOptions,
  ScrapeTarget,
  Series,
  TestPrometheus,
} from './prometheus/index.ts';

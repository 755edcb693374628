export { natsConf } from './conf.ts';
export { resolveNatsServer } from './resolve.ts';
export type { NatsServer } from './start.ts';
export { startNatsServer } from './start.ts';

export { natsConf } from './conf.ts';
export { resolveNatsServer } from './resolve.ts';
export { startNatsServer } from './start.ts';
export type { NatsServer } from './start.ts';

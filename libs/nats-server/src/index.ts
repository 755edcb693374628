export { natsConf } from './conf.ts';
export { resolveNatsServer } from './resolve.ts';
export { runningNatsUrl } from './running.ts';
export type { NatsServer } from './start.ts';
export { startNatsServer } from './start.ts';

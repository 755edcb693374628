export type { ForeignNats } from './foreign-nats.ts';
export { connectForeign } from './foreign-nats.ts';

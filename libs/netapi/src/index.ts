export { type Netapi, openNetapi } from './open-netapi.ts';

export { type Netapi, type NetapiParts, openNetapi } from './open-netapi.ts';

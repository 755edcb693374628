export { wake } from './wake.ts';
export { askWeb } from './web.ts';

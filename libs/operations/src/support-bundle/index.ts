export { writeBundle } from './write-bundle.ts';

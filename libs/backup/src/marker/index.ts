export { readMarker, writeMarker } from './marker.ts';

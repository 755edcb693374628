export { giveTo, ownerIn, ownerOf } from './owner.ts';

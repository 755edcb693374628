export {
  readBelow,
  readBounded,
  removeBelow,
  removeEmptyBelow,
  treeBelow,
  writeBelow,
  writeWhole,
} from './below.ts';
export type { Owner } from './files.ts';
export {
  isSystemError,
  readIfThere,
  removeIfThere,
  textIfThere,
  writeAtomic,
  writeNew,
} from './files.ts';
export type { NewOwner } from './give-tree.ts';
export { giveFile, giveTree } from './give-tree.ts';

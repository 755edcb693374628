export { asOwnerOf, asOwnerOfNow, eachAsOwnerOf, isRootsOwn, startAsOwner } from './as-owner.ts';
export {
  findBelow,
  readBelow,
  readBounded,
  removeBelow,
  removeEmptyBelow,
  TooMuchError,
  treeBelow,
  writeBelow,
  writeWhole,
} from './below.ts';
export type { Owner } from './files.ts';
export {
  ifThere,
  isSystemError,
  readIfThere,
  removeIfThere,
  removeOldDrafts,
  textIfThere,
  textNowIfThere,
  writeAtomic,
  writeNew,
} from './files.ts';
export type { NewOwner } from './give-tree.ts';
export { giveFile, giveTree } from './give-tree.ts';
export { isLocked, lockUntilRemoved, withLock } from './lock.ts';
export { isAlive } from './processes.ts';

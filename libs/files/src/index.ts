export type { Owner } from './files.ts';
export {
  isSystemError,
  readIfThere,
  removeIfThere,
  textIfThere,
  writeAtomic,
  writeNew,
} from './files.ts';

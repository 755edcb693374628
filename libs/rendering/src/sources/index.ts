export { GitCheckouts } from './git-checkouts.ts';
export { askExternal } from './quick-sources.ts';
export { RootFiles } from './root-files.ts';

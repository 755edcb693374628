export { askExternal } from './quick-sources.ts';
export { RootFiles } from './root-files.ts';

export { cherrypyBeside, packageBeside } from './packages-beside.ts';
export { pythonWith } from './python-tool.ts';

export { cherrypyBeside, packageBeside } from './packages-beside.ts';

export { kubernetesTools, runTool } from './tools.ts';

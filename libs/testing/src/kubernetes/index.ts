export { kubernetesTools, KubernetesToolsMissingError, runTool } from './tools.ts';

export type { KubernetesTools, ToolOutput } from './tools.ts';

export { compilePillar, pillarTop } from './compile-pillar.ts';
export { mergePillars } from './merge.ts';
export { refusedOnDemand } from './merge-externals.ts';
export type {
  PillarFiles,
  PillarMinion,
  PillarOptions,
  PillarPorts,
  PythonModules,
  RenderStep,
} from './ports.ts';
export { RenderError } from './render-sls.ts';
export { textRenderer } from './render-text.ts';
export { saltclassPillar, saltclassTops } from './saltclass.ts';
export type { StateFileContext } from './state-files.ts';
export { callStateFunction, renderStateFile } from './state-files.ts';

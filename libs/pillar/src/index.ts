export { compilePillar, pillarTop } from './compile.ts';
export { refusedOnDemand } from './external.ts';
export { mergePillars } from './merge.ts';
export { RenderError } from './render-sls.ts';
export { saltclassPillar, saltclassTops } from './saltclass.ts';

export type { MergeStrategy } from './merge.ts';
export type { ClassFiles, ClassPorts } from './saltclass.ts';
export type { PillarFiles, PillarMinion, PillarOptions, PillarPorts } from './ports.ts';

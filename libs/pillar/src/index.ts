export { compilePillar, pillarTop } from './compile.ts';
export { refusedOnDemand } from './external.ts';
export { mergePillars } from './merge.ts';
export type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
export { saltclassPillar, saltclassTops } from './saltclass.ts';

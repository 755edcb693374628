export { compilePillar, pillarTop } from './compile-pillar.ts';
export { mergePillars } from './merge.ts';
export { refusedOnDemand } from './merge-externals.ts';
export type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
export { saltclassPillar, saltclassTops } from './saltclass.ts';

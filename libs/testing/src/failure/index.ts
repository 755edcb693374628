export type { AskedMaster } from './scene-report.ts';
export { sceneReport } from './scene-report.ts';
export type { Scene } from './scenes.ts';
export { scenes } from './scenes.ts';

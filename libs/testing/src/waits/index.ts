export { cpuMs } from './cpu-ms.ts';
export { faultLasts, growsOld, loadPauses, workTakes } from './fixed-times.ts';
export { Gate } from './gate.ts';
export { until } from './until.ts';

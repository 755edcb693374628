export { faultLasts, growsOld, loadPauses, quietFor, workTakes } from './fixed-times.ts';
export { until } from './until.ts';

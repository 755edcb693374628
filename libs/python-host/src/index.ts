export { answerAt, BlockingCalls, type BlockingEnd, serveBlocking } from './blocking.ts';
export { startBlockingHost } from './blocking-host.ts';
export { deliverEvents } from './deliver.ts';
export { PythonCallError } from './errors.ts';
export type { PythonCalls } from './host.ts';
export { PythonHost } from './host.ts';
export { openPython } from './open-python.ts';
export { PythonEngine } from './python-engine.ts';
export type { PythonUse } from './settings.ts';

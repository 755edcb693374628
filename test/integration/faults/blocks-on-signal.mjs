// Loaded into every process of a master by NODE_OPTIONS: at SIGWINCH its event loop stands still
// for good, as it does with an endless loop, but it takes no CPU of the machine under test.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  process.on('SIGWINCH', () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
}

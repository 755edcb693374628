import { MessageChannel, Worker } from 'node:worker_threads';
import { BlockingCalls, type BlockingEnd } from './blocking.ts';
import { LIMITS, type PythonSettings, USES } from './settings.ts';

/** The data that the thread of a host starts with. */
export interface HostThreadData {
  readonly settings: PythonSettings;
  readonly end: BlockingEnd;
}

/** Starts a host in a thread, for a command that prints during calls; it ends with this process. */
export function startBlockingHost(settings: PythonSettings): BlockingCalls {
  const { port1, port2 } = new MessageChannel();
  const answers = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const workerData: HostThreadData = { settings, end: { port: port2, answers } };
  const thread = new Worker(new URL('./host-thread.js', import.meta.url), {
    workerData,
    transferList: [port2],
  });
  thread.unref();
  // The port has no listener, but an open port would keep the process alive.
  port1.unref();
  return new BlockingCalls({ port: port1, answers }, LIMITS.startMs + (USES.output.callMs ?? 0));
}

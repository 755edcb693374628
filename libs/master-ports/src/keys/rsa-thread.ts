import { workerData } from 'node:worker_threads';
import { type EncAlgo, PrivateKey } from '@brine/crypt';

/** A token to be opened with the master's private key. */
export interface RsaTask {
  readonly data: Uint8Array;
  readonly algo: EncAlgo;
}

/** Start parameters of a thread. */
export interface RsaThreadData {
  /** `master.pem`. */
  readonly pem: string;
}

/** piscina passes its `workerData` as the second of a pair. */
const key = PrivateKey.parse(readPem(workerData));

function readPem(data: unknown): string {
  const own: unknown = Array.isArray(data) ? data[1] : data;
  if (typeof own === 'object' && own !== null && 'pem' in own && typeof own.pem === 'string') {
    return own.pem;
  }
  throw new TypeError('an RSA thread needs the master key');
}

/**
 * Runs in a worker thread: RSA-4096 takes 5 ms, which would block the event loop.
 * @public piscina calls it by its name
 */
export function runRsaTask(task: RsaTask): Buffer {
  return key.oaepDecrypt(task.data, task.algo);
}

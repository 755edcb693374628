import { PrivateKey, type EncAlgo, type SigAlgo } from '@brine/crypt';
import { workerData } from 'node:worker_threads';

/** One operation with the master's private key. */
export type RsaTask =
  | { readonly op: 'sign'; readonly data: Uint8Array; readonly algo: SigAlgo }
  | { readonly op: 'decrypt'; readonly data: Uint8Array; readonly algo: EncAlgo }
  | { readonly op: 'x931'; readonly data: Uint8Array };

/** What a thread is started with. */
export interface RsaThreadData {
  /** `master.pem`. */
  readonly pem: string;
}

/** piscina hands its `workerData` on as the second of a pair. */
const key = PrivateKey.parse(readPem(workerData));

function readPem(data: unknown): string {
  const own: unknown = Array.isArray(data) ? data[1] : data;
  if (typeof own === 'object' && own !== null && 'pem' in own && typeof own.pem === 'string') {
    return own.pem;
  }
  throw new TypeError('an RSA thread needs the master key');
}

/**
 * Runs in a worker thread: RSA-4096 costs 5 ms a piece, which the event loop of a worker
 * must not stand still for.
 */
export function runRsaTask(task: RsaTask): Buffer {
  switch (task.op) {
    case 'sign':
      return key.sign(task.data, task.algo);
    case 'decrypt':
      return key.oaepDecrypt(task.data, task.algo);
    case 'x931':
      return key.x931Encrypt(task.data);
  }
}

import { MessageChannel, Worker } from 'node:worker_threads';
import type { Filter } from '@brine/jinja';
import { BlockingCalls, type BlockingEnd } from '@brine/python-host';
import type { SaltMap } from '@brine/wire';
import { FILE_FILTERS } from './file-filters.ts';
import { networkFilters } from './network-filters.ts';

/** Longer than any answer takes, so that no answer comes after it. */
const WAIT_MS = 40_000;

/**
 * Filters for the templates of operators: as on a stock master they see the files of the host and
 * reach its network. Files that a minion chose get none of them.
 */
export function hostFilters(opts: SaltMap): ReadonlyMap<string, Filter> {
  return new Map([...FILE_FILTERS, ...networkFilters(network, opts)]);
}

let started: BlockingCalls | undefined;

/** The thread that waits for the network; it ends with this one. */
function network(): BlockingCalls {
  if (started !== undefined) return started;
  const { port1, port2 } = new MessageChannel();
  const answers = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const workerData: BlockingEnd = { port: port2, answers };
  const url = new URL('./network-thread.js', import.meta.url);
  new Worker(url, { workerData, transferList: [port2] }).unref();
  port1.unref();
  started = new BlockingCalls({ port: port1, answers }, WAIT_MS);
  return started;
}

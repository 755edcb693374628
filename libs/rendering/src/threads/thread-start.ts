import { workerData } from 'node:worker_threads';
import type { PillarOptions } from '@brine/pillar';
import { mapIn, mapOf, unpackMap } from '@brine/wire';
import type { ExternalsData } from '../pillar-externals.ts';
import type { GpgSettings } from '../sources/gpg.ts';

/** The data that a thread starts with. */
export interface ThreadData {
  readonly roots: Readonly<Record<string, readonly string[]>>;
  /** `file_roots`: templates may name files below them by absolute paths. */
  readonly fileRoots: Readonly<Record<string, readonly string[]>>;
  readonly gpg: GpgSettings;
  readonly externals: ExternalsData;
  readonly options: Omit<PillarOptions, 'opts' | 'extPillar'>;
  /** msgpack of `{opts, extPillar}`, whose types would not survive the way to a thread. */
  readonly packed: Uint8Array;
  /** Niceness of the thread; absent: that of the process. */
  readonly niceness?: number;
}

/** The data that this thread started with, its options unpacked. */
export function threadStart(): {
  readonly data: ThreadData;
  readonly options: PillarOptions;
} {
  // piscina passes its `workerData` on as the second of a pair.
  const data = (Array.isArray(workerData) ? workerData[1] : workerData) as ThreadData;
  const rest = unpackMap(Buffer.from(data.packed));
  const options = {
    ...data.options,
    opts: mapIn(rest, 'opts') ?? mapOf({}),
    extPillar: rest.get('extPillar') ?? [],
  };
  return { data, options };
}

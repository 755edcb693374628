import type { Fields, MapScan } from '@brine/wire';
import { boolOf, cutFields, intOf, scanMap, storableText, textOf, unpackMap } from '@brine/wire';
import { hasFailed } from '@brine/wire/load';
import type { JsonTranscoder } from '@brine/wire/text';
import type { CountLabels } from '../counters/count-labels.ts';
import type { Counting } from '../counters/counting.ts';
import { countingOfReturn } from '../counters/counting.ts';
import type { LastValue } from '../counters/last-values.ts';
import { lastValuesOfReturn } from '../counters/last-values.ts';
import type { PreparedRow } from './batch.ts';
import { bornJob } from './born-job.ts';
import { contentHash } from './content-hash.ts';
import { fullRet, referredRet } from './full-ret.ts';
import type { JobRow, ReturnRow, SightingRow } from './rows.ts';
import { sightingOfReturn } from './sightings.ts';

/** A return made ready for the statement. */
export interface PreparedReturn extends PreparedRow {
  readonly row: ReturnRow;
  /** The job, if the return describes it by itself. */
  readonly born: JobRow | undefined;
  readonly counting: Counting;
  /** The last values of a run of states; empty for most returns. */
  readonly lastValues: readonly LastValue[];
  /** From an answer to find_job; undefined for most returns. */
  readonly sighting: SightingRow | undefined;
}

/** The parts of a return that its row keeps. */
export interface Kept {
  /** False (`job_cache: false`): the return is counted, its content is dropped. Default true. */
  readonly content?: boolean;
  /** True if PostgreSQL refused the JSON of its content: the bytes alone are kept. */
  readonly referred?: boolean;
}

/** The labels and the transcoder that a process reads returns with. */
export interface ReturnReading {
  readonly labels: CountLabels;
  readonly transcoder: JsonTranscoder;
}

/**
 * Reads a return's load and makes its row. Throws WireError where the load is no msgpack map.
 */
export function prepareReturn(
  row: ReturnRow,
  { labels, transcoder }: ReturnReading,
  kept: Kept = {},
): PreparedReturn {
  if (row.jid === '' || row.id === '') throw new RangeError('a return without a jid or a minion');
  const came = readLoad(row.load, transcoder);
  const load = came.scan;
  const retcode = intOf(load, 'retcode');
  const fields = {
    jid: row.jid,
    id: row.id,
    fun: functionText(load),
    retcode: retcode !== undefined && Math.abs(retcode) < 2 ** 31 ? retcode : null,
    success: boolOf(load, 'success') ?? null,
    failed: hasFailed(load),
    at: row.receivedAt,
    incarnation: row.incarnation,
    seq: row.seq,
    content: contentHash(load),
  };
  const isKept = kept.content ?? true;
  const content = isKept ? came : readLoad(cutFields(load, ['return']), transcoder);
  const full = kept.referred ? referredRet(content.scan, content.scan.bytesIn) : content.json();
  const json = `${JSON.stringify(fields).slice(0, -1)},"full_ret":${full}`;
  return {
    key: `${row.jid}\0${row.id}`,
    json,
    raw: content.scan.bytesIn,
    row,
    born: bornJob(row, load),
    counting: countingOfReturn(row, load, fields, labels),
    lastValues: lastValuesOfReturn(row, load, fields, labels),
    sighting: sightingOfReturn(row, load, fields.fun),
  };
}

/** A load: its fields, still packed, and its JSON. */
interface ReadLoad {
  readonly scan: MapScan;
  readonly json: () => string;
}

function readLoad(load: Uint8Array, transcoder: JsonTranscoder): ReadLoad {
  const read = transcoder.read(load);
  if (read !== undefined) return { scan: read.scan, json: () => read.json };
  const map = unpackMap(load);
  return { scan: scanMap(load), json: () => fullRet(map, load) };
}

/** `fun` as a text column keeps it; a compound job's list is joined by commas, as in the CLI. */
export function functionText(load: Fields): string {
  const fun = load.get('fun');
  const names = Array.isArray(fun) ? fun.filter((name) => typeof name === 'string') : undefined;
  return storableText(names?.join(',') ?? textOf(load, 'fun') ?? '');
}

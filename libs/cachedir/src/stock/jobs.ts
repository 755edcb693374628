import { join } from 'node:path';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import type { JobFiles } from '../job-files.ts';
import { changedMs, namesIn, type PassedOver, readAtMost, readPacked } from './bounded.ts';

/** A return as a stock master keeps it. */
export interface StockReturn {
  readonly id: string;
  readonly value: SaltValue;
  readonly out?: string;
  /** Unix ms. */
  readonly timeMs: number;
}

/** A job as a stock master keeps it. */
export interface StockJob {
  readonly jid: string;
  readonly load: SaltMap;
  /** Those that were to return; where that is not known, those that did. */
  readonly minions: readonly string[];
  /** Read as they are needed: those of a large fleet do not fit into memory. */
  readonly returns: AsyncIterable<StockReturn>;
  /** When the job's files were made, unix ms. */
  readonly timeMs: number;
}

/** In base64 a line of the exchange format has no room for more. */
const RETURN_MAX_BYTES = 70 * 1024 * 1024;
const LOAD_MAX_BYTES = 70 * 1024 * 1024;
const SMALL_MAX_BYTES = 4 * 1024;
/** In a job's directory beside those of minions. */
const OTHER_FILES: ReadonlySet<string> = new Set(['jid', 'nocache', 'endtime']);

/**
 * The jobs of a `local_cache`. With `sinceMs` only those that changed since: each return makes a
 * directory, which changes the time of its job's. Jobs whose returns are not kept come without.
 */
export async function* readStockJobs(
  files: JobFiles,
  given: { readonly sinceMs?: number | undefined; readonly onPassed: (one: PassedOver) => void },
): AsyncGenerator<StockJob> {
  for await (const dir of files.directories()) {
    const { sinceMs } = given;
    if (sinceMs !== undefined && (await changedMs(dir)) < sinceMs) continue;
    const job = await readJob(dir, given.onPassed);
    if (job !== undefined) yield job;
  }
}

/** A master that runs removes files meanwhile; what is no jid passes over its job alone. */
async function readJid(
  path: string,
  onPassed: (passed: PassedOver) => void,
): ReturnType<typeof readAtMost> {
  try {
    return await readAtMost(path, SMALL_MAX_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    onPassed({ path, why: error.message });
    return undefined;
  }
}

async function readJob(
  dir: string,
  onPassed: (passed: PassedOver) => void,
): Promise<StockJob | undefined> {
  const named = await readJid(join(dir, 'jid'), onPassed);
  const load = await readPacked(join(dir, '.load.p'), LOAD_MAX_BYTES, onPassed);
  if (named === undefined || load === undefined) {
    // A job that is being written comes with the next run.
    onPassed({ path: dir, why: 'there is no load, or it can not be read' });
    return undefined;
  }
  if (!isMap(load.value)) {
    onPassed({ path: dir, why: 'its load is no map' });
    return undefined;
  }
  const minions = new Set<string>();
  const returned: string[] = [];
  for (const name of await namesIn(dir)) {
    if (name.startsWith('.minions.') && name.endsWith('.p')) {
      const list = await readPacked(join(dir, name), LOAD_MAX_BYTES, onPassed);
      if (!Array.isArray(list?.value)) continue;
      for (const id of list.value) if (typeof id === 'string') minions.add(id);
    } else if (!name.startsWith('.') && !OTHER_FILES.has(name)) {
      returned.push(name);
    }
  }
  return {
    jid: named.bytes.toString('utf8').trim(),
    load: load.value,
    minions: minions.size > 0 ? [...minions].sort() : returned,
    returns: readReturns(dir, returned, onPassed),
    timeMs: named.timeMs,
  };
}

async function* readReturns(
  dir: string,
  ids: readonly string[],
  onPassed: (passed: PassedOver) => void,
): AsyncGenerator<StockReturn> {
  for (const id of ids) {
    const found = await readReturn(dir, id, onPassed);
    if (found !== undefined) yield found;
  }
}

async function readReturn(
  dir: string,
  id: string,
  onPassed: (passed: PassedOver) => void,
): Promise<StockReturn | undefined> {
  const found = await readPacked(join(dir, id, 'return.p'), RETURN_MAX_BYTES, onPassed);
  if (found === undefined) return undefined;
  const out = await readPacked(join(dir, id, 'out.p'), SMALL_MAX_BYTES, onPassed);
  const shown = typeof out?.value === 'string' ? { out: out.value } : {};
  return { id, ...found, ...shown };
}

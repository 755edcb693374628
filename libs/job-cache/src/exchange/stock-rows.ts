import { type Jid, jidTimeMs } from '@brine/job';
import {
  boolOf,
  intOf,
  pack,
  type SaltMap,
  type SaltValue,
  scanMap,
  storableText,
  textOf,
} from '@brine/wire';
import { hasFailed } from '@brine/wire/load';
import { contentHash } from '../save/content-hash.ts';
import { functionText } from '../save/prepare-return.ts';

/** Code points of a text in a column. */
const TEXT_MAX = 1_000;
/** Replaces the incarnation of a stream. It sorts last, so rows from streams count before it. */
const OF_STOCK = '~stock';
/** A stock master keeps these jobs too, but only waiting clients ask for them, not people. */
const HIDDEN: ReadonlySet<string> = new Set(['saltutil.find_job']);

/** A job of a stock master. */
export interface StockJobRow {
  readonly jid: Jid;
  readonly load: SaltMap;
  readonly minions: readonly string[];
  /** How long its minions may take before they count as `never`, in seconds. */
  readonly deadlineSeconds: number;
  /** Where it was published: the id of the master. */
  readonly host: string;
}

/** A return of a stock master. */
export interface StockReturnRow {
  readonly jid: string;
  readonly id: string;
  /** The load of `_return`. */
  readonly load: SaltMap;
  /** Unix ms. */
  readonly receivedAtMs: number;
}

/** The line of a job in the exchange format. */
export function stockJobLine({ jid, load, minions, deadlineSeconds, host }: StockJobRow): string {
  const user = columnText(load, 'user');
  const publishedAt = jidTimeMs(jid);
  const functions = columnTexts(load.get('fun'));
  return JSON.stringify({
    kind: 'job',
    jid,
    load: null,
    load_raw: base64(pack(load)),
    principal: user,
    user,
    fun: functions,
    tgt: columnTexts(load.get('tgt')),
    tgt_type: columnText(load, 'tgt_type') || 'glob',
    minions: minions.map((id) => storableText(id, TEXT_MAX)),
    missing: [],
    published_at: timeText(publishedAt),
    deadline_at: timeText(publishedAt + deadlineSeconds * 1_000),
    deadline_after: `${deadlineSeconds} seconds`,
    not_after: null,
    hidden: functions.length === 1 && HIDDEN.has(functions[0] ?? ''),
    origin: 0,
    host,
    request_id: '',
    incarnation: OF_STOCK,
    seq: 0,
  });
}

/** The line of a return in the exchange format. */
export function stockReturnLine({ jid, id, load, receivedAtMs }: StockReturnRow): string {
  const retcode = intOf(load, 'retcode');
  const raw = pack(load);
  return JSON.stringify({
    kind: 'return',
    jid,
    id,
    fun: functionText(load),
    retcode: retcode !== undefined && Math.abs(retcode) < 2 ** 31 ? retcode : null,
    success: boolOf(load, 'success') ?? null,
    failed: hasFailed(load),
    full_ret: null,
    raw: base64(raw),
    received_at: timeText(receivedAtMs),
    incarnation: OF_STOCK,
    seq: 0,
    content: contentHash(scanMap(raw)),
  });
}

function columnText(load: SaltMap, name: string): string {
  return storableText(textOf(load, name) ?? '', TEXT_MAX);
}

function columnTexts(value: SaltValue | undefined): string[] {
  const all = Array.isArray(value) ? value : [value];
  return all.flatMap((one) => (typeof one === 'string' ? [storableText(one, TEXT_MAX)] : []));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

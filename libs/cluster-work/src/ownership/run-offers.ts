import { randomBytes } from 'node:crypto';
import { type Bucket, type BucketEntry, splitKey } from '@brine/bus';
import { reachableBucket } from '@brine/master-state';
import type { SaltMap } from '@brine/wire';
import {
  ENDED,
  inputKeyOf,
  type RecordBox,
  type RunHead,
  runKey,
  type RunRecord,
  RunRecords,
  RUNS,
} from './run-record.ts';

/** A run that any process may see. */
export interface FoundRun extends RunHead {
  readonly jid: string;
  readonly ended: boolean;
  readonly data: SaltMap;
  /** What began it. */
  readonly call: SaltMap;
}

/** What a run begins with. */
export interface NewRun {
  readonly data: SaltMap;
  /** What another process needs to know of the call. */
  readonly call: SaltMap;
  /** What never changes and may be large; see RUN_LIMITS. */
  readonly input?: SaltMap | undefined;
}

/** Hands runs to the cluster, and finds them; for a process that takes none itself. */
export class RunOffers {
  readonly #bucket: ReturnType<typeof reachableBucket>;
  readonly #records: RunRecords;

  constructor(bucket: Bucket, box: RecordBox) {
    this.#bucket = reachableBucket(RUNS, bucket);
    this.#records = new RunRecords(box);
  }

  /**
   * Adds a run without an owner: a process that knows its kind takes it at once. False where a run
   * of this jid is or was there.
   * @throws MasterUnavailableError, RunTooLargeError
   */
  async offer(kind: string, jid: string, { data, call, input }: NewRun): Promise<boolean> {
    const inputKey = input === undefined ? undefined : await this.writeInput(jid, input);
    const record: RunRecord = { kind, owner: '', call, data, takeovers: 0, inputKey };
    const created = await this.#bucket.create(runKey(jid), this.#records.write(jid, record));
    return created !== undefined;
  }

  /** One run by its record at the source, also one that left a last message. */
  async find(jid: string): Promise<FoundRun | undefined> {
    const entry = await this.#bucket.get(runKey(jid));
    return entry === undefined ? undefined : foundRun(this.#records, jid, entry.value);
  }

  /** Under a name of its own: a process that owns the run no more can not write over it. */
  async writeInput(jid: string, input: SaltMap): Promise<string> {
    const value = this.#records.writeInput(jid, input);
    const name = randomBytes(6).toString('hex');
    await this.#bucket.put(inputKeyOf(jid, name), value);
    return name;
  }
}

/** A run as its record has it; undefined for a removed one. */
export function foundRun(
  records: RunRecords,
  jid: string,
  value: Uint8Array,
): FoundRun | undefined {
  const record = records.read(jid, value);
  if (record === undefined) return undefined;
  const { kind, owner, data, call } = record;
  const ended = owner === ENDED;
  return { jid, kind, owner: ended ? '' : owner, ended, data, call };
}

/** The run that an entry of a bucket is the record of; undefined for any other entry. */
export function runIn({ key, value }: BucketEntry, box: RecordBox): FoundRun | undefined {
  const [what, jid] = splitKey(key);
  if (what !== 'run' || jid === undefined) return undefined;
  return foundRun(new RunRecords(box), jid, value);
}

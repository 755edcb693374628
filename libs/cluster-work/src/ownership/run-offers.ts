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
  /** The call that began the run. */
  readonly call: SaltMap;
}

/** Contents of a new run. */
export interface NewRun {
  readonly data: SaltMap;
  /** Facts about the call that another process needs. */
  readonly call: SaltMap;
  /** Data that never changes and may be large; see RUN_LIMITS. */
  readonly input?: SaltMap | undefined;
}

/** Hands runs to the cluster and finds them, in a process that takes none itself. */
export class RunOffers {
  readonly #bucket: ReturnType<typeof reachableBucket>;
  readonly #records: RunRecords;

  constructor(bucket: Bucket, box: RecordBox) {
    this.#bucket = reachableBucket(RUNS, bucket);
    this.#records = new RunRecords(box);
  }

  /**
   * Adds a run without an owner; a process that knows its kind takes it at once. Returns false if
   * the jid has or had a run.
   * @throws MasterUnavailableError, RunTooLargeError
   */
  async offer(kind: string, jid: string, { data, call, input }: NewRun): Promise<boolean> {
    const inputKey = input === undefined ? undefined : await this.writeInput(jid, input);
    const record: RunRecord = { kind, owner: '', call, data, takeovers: 0, inputKey };
    const created = await this.#bucket.create(runKey(jid), this.#records.write(jid, record));
    return created !== undefined;
  }

  /** Reads one run from the bucket itself, including a run that left a last message. */
  async find(jid: string): Promise<FoundRun | undefined> {
    const entry = await this.#bucket.get(runKey(jid));
    return entry === undefined ? undefined : foundRun(this.#records, jid, entry.value);
  }

  /** Each write has its own key, so a process that was taken over can not overwrite it. */
  async writeInput(jid: string, input: SaltMap): Promise<string> {
    const value = this.#records.writeInput(jid, input);
    const name = randomBytes(6).toString('hex');
    await this.#bucket.put(inputKeyOf(jid, name), value);
    return name;
  }
}

/** Reads a run from its record; undefined if it was removed. */
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

/** Reads a run from an entry of a bucket; undefined if the entry is no run. */
export function runIn({ key, value }: BucketEntry, box: RecordBox): FoundRun | undefined {
  const [what, jid] = splitKey(key);
  if (what !== 'run' || jid === undefined) return undefined;
  return foundRun(new RunRecords(box), jid, value);
}

import type { Bus } from '@brine/bus';
import { Bucket } from '@brine/bus';
import type { KeyRecord, KeyRecords } from '@brine/pki';
import { journalPath, KeyJournal, KeyStore, KeySync } from '@brine/pki';
import type { Trouble } from '@brine/tasks';
import { BucketKeyRecords } from './key-records.ts';

/** Keeps the key files of a host and the shared record equal. */
export interface KeyFilesSync {
  /**
   * True once files and record were equal for the first time; a later alarm does not change that.
   */
  readonly inStep: boolean;
  /** True while it waits for an operator's decision, or because `pki_dir` is missing. */
  readonly stopped: boolean;
  /** Minions whose keys are accepted. */
  accepted(): Iterable<string>;
  /** True if a minion has a key of any state. */
  has(id: string): boolean;
  /** Reads the files and waits until their changes are in the record; false if not in time. */
  settled(timeoutMs: number): Promise<boolean>;
  status(): object;
  close(): Promise<void>;
}

/** A change of a key's state, because its file was moved, made or removed here. */
export interface KeyAct {
  readonly id: string;
  readonly before: KeyRecord['state'] | undefined;
  readonly after: KeyRecord['state'];
}

/** Starts the sync; resolves once it has begun, which may be long before it is in step. */
export async function startKeySync(options: {
  readonly bus: Bus;
  readonly pkiDir: string;
  readonly onTrouble: Trouble;
  /** Called with each change of a key's state that began with a file of this host. */
  readonly onAct?: (act: KeyAct) => Promise<void>;
}): Promise<KeyFilesSync> {
  const { pkiDir, onTrouble } = options;
  const records = new BucketKeyRecords(new Bucket(options.bus, 'brine_keys'));
  const journal = await KeyJournal.open(journalPath(pkiDir));
  const reporting = reportingRecords(records, options.onAct, onTrouble);
  const store = new KeyStore(pkiDir);
  await store.removeOldDrafts().catch((error: unknown) => {
    onTrouble('files that a killed process left in pki_dir were not removed', error);
  });
  const sync = new KeySync({ store, journal, records: reporting }, { onTrouble });
  let inStep = false;
  const starting = records
    .whenReady()
    .then(() => {
      records.follow(
        (id) => sync.changed(id),
        () => sync.resync(),
      );
      return sync.start();
    })
    .then(() => {
      inStep = true;
    });
  starting.catch((error: unknown) => onTrouble('key sync did not start', error));
  return {
    get inStep() {
      return inStep;
    },
    get stopped() {
      const { alarm, away } = sync.status();
      return alarm !== undefined || away;
    },
    accepted: () => records.accepted(),
    has: (id) => (records.get(id)?.record.state ?? 'deleted') !== 'deleted',
    settled: (timeoutMs) => sync.settled(timeoutMs),
    status: () => ({ ...sync.status(), inStep, unreadableRecords: records.unreadable }),
    close: async () => {
      records.close();
      await Promise.allSettled([starting]);
      await sync.close();
    },
  };
}

/** The records, with a report of each state that the sync writes. */
function reportingRecords(
  records: BucketKeyRecords,
  onAct: (act: KeyAct) => Promise<void> = () => Promise.resolve(),
  onTrouble: Trouble,
): KeyRecords {
  return {
    ready: () => records.ready(),
    ids: () => records.ids(),
    get: (id) => records.get(id),
    put: async (id, record, expected) => {
      const before = records.get(id)?.record.state;
      const revision = await records.put(id, record, expected);
      if (revision !== undefined && before !== record.state) {
        await onAct({ id, before, after: record.state }).catch((error: unknown) => {
          onTrouble('what follows from a key act was not done', error);
        });
      }
      return revision;
    },
  };
}

import { Bucket } from '@brine/bus';
import type { Bus } from '@brine/bus';
import { journalPath, KeyJournal, KeyStore, KeySync } from '@brine/pki';

import { BucketKeyRecords } from './key-records.ts';

/** What keeps the key files of a host and the shared record the same. */
export interface KeyFilesSync {
  /** True once all keys were brought together; an alarm later does not change that. */
  readonly inStep: boolean;
  /** True while it stands still until an operator decides, or because `pki_dir` is not there. */
  readonly stopped: boolean;
  /** Minions whose keys are accepted. */
  accepted(): Iterable<string>;
  status(): object;
  close(): Promise<void>;
}

/** Starts the sync; resolves once it has begun, which may be long before it is in step. */
export async function startKeySync(options: {
  readonly bus: Bus;
  readonly pkiDir: string;
  readonly onTrouble: (text: string, error?: unknown) => void;
}): Promise<KeyFilesSync> {
  const { pkiDir, onTrouble } = options;
  const records = new BucketKeyRecords(new Bucket(options.bus, 'brine_keys'));
  const journal = await KeyJournal.open(journalPath(pkiDir));
  const sync = new KeySync({ store: new KeyStore(pkiDir), journal, records }, { onTrouble });
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
    status: () => ({ ...sync.status(), inStep, unreadableRecords: records.unreadable }),
    close: async () => {
      records.close();
      await Promise.allSettled([starting]);
      await sync.close();
    },
  };
}

import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { SecretBox } from '@brine/crypt';
import { AesEpochs } from '@brine/master-state';
import type { MasterKeys } from '@brine/pki';
import { Rotation } from './rotation.ts';

/** A deleted key file takes a second to be believed; a sync that stands still is not waited for. */
const SETTLE_MS = 5_000;
const PRUNE_EVERY_MS = 600_000;

/** The renewal of AES keys, as the rest of the service sees it. */
export interface AesRotation {
  readonly rotations: number;
  /** When the key in use was made, unix ms. */
  readonly keyMadeMs: number | undefined;
  /** Asks for a new key, because one that reads publications is no longer to be trusted. */
  want(): void;
  close(): Promise<void>;
}

/** Joins the wishes of this host to the AES keys that all services share. */
export async function startRotation(parts: {
  readonly bus: Bus;
  readonly keys: MasterKeys;
  readonly cachedir: string;
  readonly masterId: string;
  /** Seconds after which the key is renewed; 0 keeps it. */
  readonly maxAgeSeconds: number;
  readonly settled: (timeoutMs: number) => Promise<unknown>;
  readonly onTrouble: (text: string, error?: unknown) => void;
}): Promise<AesRotation> {
  const { bus, keys, cachedir, masterId, maxAgeSeconds, onTrouble } = parts;
  const epochs = await AesEpochs.connect(bus, SecretBox.fromMasterKey(keys.privatePem, 'aes'));
  const events = new EventWriter(bus);
  const prune = (): void => {
    epochs.prune().catch((error: unknown) => onTrouble('old AES keys were not forgotten', error));
  };
  const rotation = new Rotation({
    cachedir,
    masterId,
    rotate: () => epochs.rotate(),
    fire: (tag, body) => {
      // One event per epoch, although another host may see the same wish.
      const msgId = `key:rotate:${epochs.current().epoch}`;
      return events.append({ kind: 'key', tag, body, msgId });
    },
    settled: () => parts.settled(SETTLE_MS),
    isOld: () => {
      const { madeMs } = epochs.current();
      return maxAgeSeconds > 0 && madeMs !== undefined && Date.now() - madeMs > maxAgeSeconds * 1e3;
    },
    onTrouble,
  });
  void rotation.look();
  prune();
  const pruning = setInterval(prune, PRUNE_EVERY_MS);
  pruning.unref();
  return {
    get rotations() {
      return rotation.rotations;
    },
    get keyMadeMs() {
      return epochs.current().madeMs;
    },
    want: () => rotation.want(),
    close: async () => {
      clearInterval(pruning);
      await rotation.close();
      epochs.close();
    },
  };
}

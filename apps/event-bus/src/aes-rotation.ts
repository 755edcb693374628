import { AesEpochs, EventWriter } from '@brine/bus';
import type { Bus } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import type { MasterKeys } from '@brine/pki';

import { Rotation } from './rotation.ts';

/** Joins the drop file of this host to the AES keys that all services share. */
export async function startRotation(parts: {
  readonly bus: Bus;
  readonly keys: MasterKeys;
  readonly cachedir: string;
  readonly masterId: string;
  readonly onTrouble: (text: string, error?: unknown) => void;
}): Promise<{
  readonly rotations: number;
  /** When the key in use was made, unix ms. */
  readonly keyMadeMs: number | undefined;
  close(): Promise<void>;
}> {
  const { bus, keys, cachedir, masterId, onTrouble } = parts;
  const epochs = await AesEpochs.connect(bus, SecretBox.fromMasterKey(keys.privatePem, 'aes'));
  const events = new EventWriter(bus);
  const rotation = new Rotation({
    cachedir,
    masterId,
    rotate: () => epochs.rotate(),
    fire: (tag, body) => {
      // One event per epoch, although another host may see the same wish.
      const msgId = `key:rotate:${epochs.current().epoch}`;
      return events.append({ kind: 'key', tag, body, msgId });
    },
    onTrouble,
  });
  void rotation.look();
  return {
    get rotations() {
      return rotation.rotations;
    },
    get keyMadeMs() {
      return epochs.current().madeMs;
    },
    close: async () => {
      await rotation.close();
      epochs.close();
    },
  };
}

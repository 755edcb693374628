import type { PrivateKey } from '@brine/crypt';
import type { MasterAccess } from '../functions/master-functions.ts';
import type { Clock, MasterKeyFile } from '../ports.ts';
import type { MinionSettings } from '../settings.ts';
import type { MasterSession } from './session.ts';

/** Gives functions access to the master through a session. */
export function masterAccess(
  parts: {
    readonly settings: MinionSettings;
    readonly key: PrivateKey;
    readonly masterKeyFile: MasterKeyFile;
    readonly clock: Clock;
  },
  session: MasterSession,
  signal: AbortSignal,
): MasterAccess {
  const { settings, key, masterKeyFile, clock } = parts;
  return {
    id: settings.id,
    hashType: settings.hashType,
    ownPub: key.publicKey.pem,
    masterPub: () => masterKeyFile.readMasterPub(),
    send: (load) =>
      session.send(load, {
        timeoutMs: settings.requestChannelTimeout * 1000,
        tries: settings.requestChannelTries,
        signal,
      }),
    sleep: (ms) => clock.sleep(ms, signal),
  };
}

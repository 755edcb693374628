import type { Bus } from '@brine/bus';
import { Bucket } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { AuditSeal, SecretBox } from '@brine/crypt';
import { AuditWriter, forgetMinion } from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions } from '@brine/pki';
import type { Releasers, ServiceContext } from '@brine/service';
import type { Trouble } from '@brine/tasks';
import { startRotation } from './aes-rotation.ts';
import { type KeyAct, startKeySync } from './key-files.ts';
import { watchUserKeys } from './user-keys.ts';

/** The keys of a host. */
export interface HostKeys {
  readonly inStep: () => boolean;
  readonly accepted: () => Iterable<string>;
  /** True if a minion has a key of any state. */
  readonly has: (id: string) => boolean;
  readonly keyMadeMs: () => number | undefined;
  readonly status: () => object;
}

/** The key files of this host: users' keys, minions' keys, and the request for a new AES key. */
export async function startHostKeys(
  context: ServiceContext,
  bus: Bus,
  releasers: Releasers,
  onTrouble: Trouble,
): Promise<HostKeys> {
  const { options } = context;
  const { cachedir, masterId, pkiDir } = options;
  const keys = await loadOrCreateMasterKeys(pkiDir, options.keysize, masterKeyOptions(options));
  const box = SecretBox.fromMasterKey(keys.privateKey, 'userkeys');
  const secrets = new Bucket(bus, 'brine_secrets');
  const userOptions = { ...options, host: options.brine.host };
  const users = await watchUserKeys(userOptions, secrets, box, onTrouble);
  releasers.add(() => users.close());
  // A key that was deleted while no master ran is found before the rotation exists.
  const wish = { early: false, want: (): void => void (wish.early = true) };
  const audit = new AuditWriter(new EventWriter(bus), AuditSeal.fromMasterKey(keys.privateKey), {
    name: `keys-${options.brine.host}`,
    onTrouble,
  });
  releasers.add(() => audit.close());
  const onAct = async ({ id, before, after }: KeyAct): Promise<void> => {
    const source = options.brine.host;
    const outcome = `${before ?? 'none'} to ${after}` as const;
    audit.record({ kind: 'key', outcome, target: id, method: 'file', source });
    if (after !== 'deleted' && after !== 'rejected') return;
    await forgetMinion(bus, id, { data: after === 'deleted' && !options.preserveMinionCache });
    if (before === 'accepted' && options.rotateAesKey) wish.want();
  };
  const minions = await startKeySync({ bus, pkiDir, onTrouble, onAct });
  releasers.add(() => minions.close());
  context.metrics.gaugeOf(
    'brine_key_sync_stopped',
    '1 while the key files of this host are not followed.',
    () => Number(minions.stopped),
  );
  const rotation = await startRotation({
    bus,
    keys,
    cachedir,
    masterId,
    maxAgeSeconds: options.publishSession,
    settled: (timeoutMs) => minions.settled(timeoutMs),
    onTrouble,
  });
  releasers.add(() => rotation.close());
  wish.want = () => rotation.want();
  if (wish.early) rotation.want();
  return {
    inStep: () => minions.inStep,
    accepted: () => minions.accepted(),
    has: (id) => minions.has(id),
    keyMadeMs: () => rotation.keyMadeMs,
    status: () => ({
      users: users.count,
      rotations: rotation.rotations,
      ...rotation.status(),
      ...minions.status(),
    }),
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Bucket, type Bus } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { AesEpochs, forgetMinion } from '@brine/master-state';
import { KeptPillars } from '@brine/master-state';
import { BucketMinionData } from '@brine/master-state';
import { BucketMinionKeys } from '@brine/master-state';
import { BucketSessionKeys } from '@brine/master-state';
import { BucketSyndics } from '@brine/master-state';
import { BucketUserKeys } from '@brine/master-state';

/** Opens the hot state of a master, with what this process keeps of it in memory. */
export async function openHotState(bus: Bus, pem: string, publishSession: number) {
  const epochs = await AesEpochs.connect(bus, SecretBox.fromMasterKey(pem, 'aes'));
  const keysBucket = new Bucket(bus, 'brine_keys');
  const sessionsBucket = new Bucket(bus, 'brine_sessions');
  const secretsBucket = new Bucket(bus, 'brine_secrets');
  const minionsBucket = new Bucket(bus, 'brine_minions');
  const minionData = new BucketMinionData(minionsBucket);
  const pillars = new KeptPillars(
    new Bucket(bus, 'brine_pillars'),
    SecretBox.fromMasterKey(pem, 'pillar'),
  );
  const keys = new BucketMinionKeys(keysBucket, async (id, what) => {
    minionData.forget(id);
    pillars.forget(id);
    await forgetMinion(bus, id, what);
  });
  const sessions = new BucketSessionKeys(
    sessionsBucket,
    SecretBox.fromMasterKey(pem, 'session'),
    publishSession,
  );
  const syndics = new BucketSyndics(secretsBucket);
  const userKeys = new BucketUserKeys(secretsBucket, SecretBox.fromMasterKey(pem, 'userkeys'));
  const watches = [
    keysBucket.watch({
      onChange: (entry) => keys.changed(entry),
      onReset: () => keys.reset(),
    }),
    sessionsBucket.watch({
      onChange: (entry) => sessions.changed(entry),
      onReset: () => sessions.reset(),
    }),
    secretsBucket.watch({
      onChange: (entry) => {
        userKeys.changed(entry);
        syndics.changed(entry);
      },
      onReset: () => {
        userKeys.reset();
        syndics.reset();
      },
    }),
  ];
  await Promise.all(watches.map((watch) => watch.whenReady()));
  return {
    epochs,
    keys,
    sessions,
    syndics,
    userKeys,
    minionData,
    pillars,
    requests: new Bucket(bus, 'brine_requests'),
    ready: () => epochs.ready && watches.every((watch) => watch.ready),
    readyWithin: (timeoutMs: number) => {
      const all = Promise.all(watches.map((watch) => watch.whenReady()));
      const late = sleep(timeoutMs, false, { ref: false });
      return Promise.race([all.then(() => epochs.ready), late]);
    },
    close: () => {
      for (const watch of watches) watch.close();
      minionData.close();
      pillars.close();
      epochs.close();
    },
  };
}

/** The hot state of a worker. */
export type HotState = Awaited<ReturnType<typeof openHotState>>;

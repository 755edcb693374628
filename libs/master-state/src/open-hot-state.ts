import { Bucket, type Bus, splitKey } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { AesEpochs } from './epochs/aes-epochs.ts';
import { forgetMinion } from './minions/forget-minion.ts';
import { BucketMines } from './minions/mines.ts';
import { isDropped } from './minions/minion-banks.ts';
import { BucketMinionData } from './minions/minion-data.ts';
import { BucketMinionKeys } from './minions/minion-keys.ts';
import { BucketPillars } from './minions/pillar-bucket.ts';
import { BucketSessionKeys } from './minions/session-keys.ts';
import { BucketSyndics } from './minions/syndics.ts';
import { until } from './until.ts';
import { BucketUserKeys } from './user-keys.ts';

/** Opens the hot state of a master, with the copies of it that this process watches. */
export async function openHotState(bus: Bus, pem: string, publishSession: number) {
  const epochs = await AesEpochs.connect(bus, SecretBox.fromMasterKey(pem, 'aes'));
  const keysBucket = new Bucket(bus, 'brine_keys');
  const sessionsBucket = new Bucket(bus, 'brine_sessions');
  const secretsBucket = new Bucket(bus, 'brine_secrets');
  const minionsBucket = new Bucket(bus, 'brine_minions');
  const minionData = new BucketMinionData(minionsBucket);
  const pillars = new BucketPillars(
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
  const mines = new BucketMines(new Bucket(bus, 'brine_mine'));
  const userKeys = new BucketUserKeys(secretsBucket, SecretBox.fromMasterKey(pem, 'userkeys'));
  const watches = watchesOf(
    { keysBucket, sessionsBucket, secretsBucket },
    { keys, sessions, userKeys, syndics, minionData, pillars },
  );
  await Promise.all(watches.map((watch) => watch.whenReady()));
  const ready = (): boolean => epochs.ready && watches.every((watch) => watch.ready);
  return {
    epochs,
    keys,
    sessions,
    syndics,
    userKeys,
    minionData,
    pillars,
    mines,
    secrets: secretsBucket,
    requests: new Bucket(bus, 'brine_requests'),
    ready,
    /** Resolves with true if everything is loaded by then. */
    readyWithin: (timeoutMs: number): Promise<boolean> => until(timeoutMs, ready),
    close: () => {
      for (const watch of watches) watch.close();
      minionData.close();
      pillars.close();
      epochs.close();
    },
  };
}

/** Keeps the copies of this process equal to the buckets. */
function watchesOf(
  buckets: Readonly<Record<'keysBucket' | 'sessionsBucket' | 'secretsBucket', Bucket>>,
  copies: {
    readonly keys: BucketMinionKeys;
    readonly sessions: BucketSessionKeys;
    readonly userKeys: BucketUserKeys;
    readonly syndics: BucketSyndics;
    readonly minionData: BucketMinionData;
    readonly pillars: BucketPillars;
  },
) {
  const { keysBucket, sessionsBucket, secretsBucket } = buckets;
  const { keys, sessions, userKeys, syndics, minionData, pillars } = copies;
  return [
    keysBucket.watch({
      onChange: (entry) => {
        keys.changed(entry);
        const [id = ''] = splitKey(entry.key);
        // Another worker deleted the key, and with it the data: a new minion may send the same.
        if (keys.cached(id)?.state !== 'deleted') return;
        minionData.forget(id);
        pillars.forget(id);
      },
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
        if (!isDropped(entry)) return;
        minionData.forgetAll();
        pillars.forgetAll();
      },
      onReset: () => {
        userKeys.reset();
        syndics.reset();
      },
    }),
  ];
}

/** The hot state of a worker. */
export type HotState = Awaited<ReturnType<typeof openHotState>>;

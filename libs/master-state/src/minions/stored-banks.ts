import { Bucket, type BucketKey, type BucketName, type Bus, splitKey } from '@brine/bus';
import { type PrivateKey, SecretBox } from '@brine/crypt';
import type { BankName } from '@brine/master';
import type { SaltMap } from '@brine/wire';
import { BucketMines } from './mines.ts';
import { BucketMinionData } from './minion-data.ts';
import { BucketPillars } from './pillar-bucket.ts';

export type StoredBank = BankName;

/** Reads stored data of minions, in a process that never writes them. */
export interface StoredBanks {
  /**
   * @param env environment of a pillar; absent: that of no environment
   * @throws MasterUnavailableError
   */
  fetch(bank: StoredBank, id: string, env?: string): Promise<SaltMap | undefined>;
}

/** The buckets of the banks. */
export const BANK_BUCKETS: Readonly<Record<StoredBank, BucketName>> = {
  grains: 'brine_minions',
  pillar: 'brine_pillars',
  mine: 'brine_mine',
};

/** The minion of a key in these buckets; undefined for a key of another kind. */
export function bankRecordOf(
  bank: StoredBank,
  key: BucketKey,
): { readonly id: string; readonly env?: string } | undefined {
  const [id = '', env, ...more] = splitKey(key);
  if (env === undefined) return { id };
  return bank === 'pillar' && more.length === 0 ? { id, env } : undefined;
}

/** Opens the stored banks. @param masterKey seals pillars */
export function openStoredBanks(bus: Bus, masterKey: PrivateKey): StoredBanks {
  const minionData = new BucketMinionData(new Bucket(bus, BANK_BUCKETS.grains));
  const mines = new BucketMines(new Bucket(bus, BANK_BUCKETS.mine));
  const pillars = new BucketPillars(
    new Bucket(bus, BANK_BUCKETS.pillar),
    SecretBox.fromMasterKey(masterKey, 'pillar'),
  );
  return {
    async fetch(bank, id, env) {
      if (bank === 'grains') return (await minionData.fetch(id))?.grains;
      if (bank === 'mine') return mines.fetch(id);
      return (await pillars.fetch(id, env ?? null))?.pillar;
    },
  };
}

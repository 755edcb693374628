import { join } from 'node:path';
import type { Bus } from '@brine/bus';
import { BankFiles, type BankLayout, type InstalledSalt } from '@brine/cachedir';
import { textIfThere } from '@brine/files';
import { openStoredBanks, type StoredBank } from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions } from '@brine/pki';
import type { ServiceContext } from '@brine/service';
import type { Trouble } from '@brine/tasks';
import { BankMirror, followOn } from './bank-mirror.ts';
import type { HostKeys } from './keys/host-keys.ts';

type Options = ServiceContext['options'];

/** The file of places, in cachedir. */
const JOURNAL = '.brine-banks.json';

/** The parts for the files of minion data. */
export interface HostBanksParts {
  readonly bus: Bus;
  readonly salt: InstalledSalt | undefined;
  readonly keys: Pick<HostKeys, 'has' | 'inStep'>;
  readonly onTrouble: Trouble;
}

/** Starts to write minion data for the stock tools of this host; undefined if none read it. */
export async function startHostBanks(
  { options, log }: ServiceContext,
  { bus, salt, keys, onTrouble }: HostBanksParts,
): Promise<BankMirror | undefined> {
  const { cachedir, pkiDir, keysize } = options;
  const layout = bankLayout(options, salt);
  const wanted = layout === undefined ? [] : wantedBanks(options, layout);
  const journal = join(cachedir, JOURNAL);
  if (layout === undefined || wanted.length === 0) {
    // Pillars in plain text that are no longer maintained: the operator should know.
    if ((await textIfThere(journal)) !== undefined) {
      const text = 'files with minion data are not written any more; remove them and the journal';
      log.warn({ cachedir, dirs: ['grains', 'pillar', 'mine', 'minions'], journal }, text);
    }
    return undefined;
  }
  const { privateKey } = await loadOrCreateMasterKeys(pkiDir, keysize, masterKeyOptions(options));
  const mirror = new BankMirror({
    files: new BankFiles({ cachedir, layout, pillarEnvs: Object.keys(options.pillarRoots) }),
    banks: openStoredBanks(bus, privateKey),
    wanted,
    journal,
    onTrouble,
    hasKey: (id) => keys.has(id),
    knowsKeys: () => keys.inStep(),
    follow: followOn(bus),
  });
  mirror.start();
  log.info({ layout, wanted }, 'minion data are written for the stock tools of this host');
  return mirror;
}

/** The layout of minion data for the stock tools of this host; undefined without any. */
export function bankLayout(
  {
    cache,
    brine,
  }: Pick<Options, 'cache'> & { readonly brine: Pick<Options['brine'], 'minionBanks'> },
  salt: Pick<InstalledSalt, 'version'> | undefined,
): BankLayout | undefined {
  const { minionBanks } = brine;
  // Stock tools with another cache do not read files.
  if (minionBanks === 'never' || cache !== 'localfs') return undefined;
  if (minionBanks !== 'auto') return minionBanks;
  if (salt === undefined) return undefined;
  return Number(salt.version.split('.')[0]) >= 3008 ? '3008' : '3006';
}

/** The banks that a stock master of this layout writes by its options. */
export function wantedBanks(
  options: Pick<Options, 'minionDataCache' | 'enforceMineCache' | 'pillarCache'>,
  layout: BankLayout,
): readonly StoredBank[] {
  const { minionDataCache, enforceMineCache, pillarCache } = options;
  const wanted: StoredBank[] = minionDataCache ? ['grains', 'pillar', 'mine'] : [];
  if (minionDataCache) return wanted;
  // Salt: salt/pillar/__init__.py PillarCache; that of 3006 is no bank.
  if (pillarCache && layout === '3008') wanted.push('pillar');
  if (enforceMineCache) wanted.push('mine');
  return wanted;
}

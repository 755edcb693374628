import { existsSync } from 'node:fs';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { ReturnerError, returnerUrl } from '@brine/event-return';
import { StockTables } from '@brine/job-cache';
import { RefusedError } from '@brine/master-host';

/** Arguments of the command line. */
export interface MigrateArguments {
  /** Directory of the stock master's file `master`. */
  readonly stockDir: string;
  readonly configDir: string | undefined;
  readonly isDry: boolean;
  readonly handOver: boolean;
  readonly start: boolean;
  /** URL of the pgjsonb database, if the stock master's options do not name it. */
  readonly historyUrl: string | undefined;
  /** Release of the stock master, as `3006.26`, if it can not be detected. */
  readonly release: string | undefined;
}

/** Both configurations. */
export interface BothMasters {
  readonly stock: LoadedConfig<MasterOptions>;
  readonly ours: LoadedConfig<MasterOptions>;
  /** True if both are the same file. */
  readonly isOneFile: boolean;
}

/** @throws RefusedError if one can not be read */
export function readBoth({ stockDir, configDir }: MigrateArguments): BothMasters {
  // A stock master reads only its file: Brine's environment variables do not apply.
  const stock = readOne({ configDir: stockDir, env: {} });
  const ours = readOne({ configDir });
  if (!existsSync(stock.options.confFile)) {
    throw new RefusedError(
      `${stock.options.confFile} is not there: --stock names the stock master's directory`,
    );
  }
  return { stock, ours, isOneFile: stock.options.confFile === ours.options.confFile };
}

function readOne(location: Parameters<typeof loadMasterConfig>[0]): LoadedConfig<MasterOptions> {
  try {
    return loadMasterConfig(location);
  } catch (error) {
    if (error instanceof ConfigError) throw new RefusedError(error.message);
    throw error;
  }
}

/** Defaults of pgjsonb (Salt: salt/returners/pgjsonb.py). */
const PRESET_URL = 'postgres://salt:salt@localhost:5432/salt';

/**
 * Opens the stock master's job database; undefined if it has none of its own.
 * @throws RefusedError for options that name no database
 */
export async function openTables(
  { written }: MasterOptions,
  historyUrl: string | undefined,
): Promise<StockTables | undefined> {
  const isUsed = ['master_job_cache', 'ext_job_cache'].some((name) => written[name] === 'pgjsonb');
  if (historyUrl === undefined && !isUsed) return undefined;
  try {
    return await StockTables.connect(
      historyUrl ?? returnerUrl('pgjsonb', { written }) ?? PRESET_URL,
    );
  } catch (error) {
    if (!(error instanceof ReturnerError)) throw error;
    throw new RefusedError(`the stock master's job cache can not be read: ${error.message}`);
  }
}

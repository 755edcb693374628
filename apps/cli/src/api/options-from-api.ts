import { devNull } from 'node:os';
import { loadMasterConfig, type MasterOptions } from '@brine/config';

/** Options of `brine` that the API gives. */
const OF_BRINE = ['exitCodes', 'progress'] as const;

/** The options of a master without a file: those that the environment sets, and defaults. */
export function optionsWithoutFile(): MasterOptions {
  return loadMasterConfig({ file: devNull }).options;
}

/**
 * The options of a command for the master behind an API: those that it gave, in the form that they
 * have here, and no path of this host. `BRINE_EXIT_CODES` of this host counts.
 */
export function optionsFromApi(given: unknown, isExitCodesSet: boolean): MasterOptions {
  const base = optionsWithoutFile();
  const options = fitting(given, base);
  const brine = fitting((given as { readonly brine?: unknown } | null)?.brine, base.brine);
  const taken = OF_BRINE.filter((name) => !(name === 'exitCodes' && isExitCodesSet));
  return {
    ...base,
    ...options,
    brine: {
      ...base.brine,
      ...Object.fromEntries(taken.map((name) => [name, brine[name] ?? base.brine[name]])),
      // Outputters of the site, and traces, are of the master's host.
      python: '',
      trace: 'off',
    },
  };
}

/** The values whose type is that of the default; a newer master may have others. */
function fitting<T extends object>(given: unknown, base: T): Partial<T> {
  if (typeof given !== 'object' || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const known = (base as Record<string, unknown>)[name];
      if (name === 'brine' || known === undefined) return false;
      return typeof known === 'object' ? typeof value === 'object' : typeof value === typeof known;
    }),
  ) as Partial<T>;
}

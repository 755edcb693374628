/** The part of a configuration warning that a report needs. */
export interface OptionWarning {
  readonly kind: string;
  readonly text: string;
  readonly option?: string | undefined;
  /** Names by which `brine.accept_ignored` accepts the loss. */
  readonly acceptedAs?: readonly string[] | undefined;
}

/** How Brine treats the options of a stock master. */
export interface OptionReport {
  /** Names of options that work as in the stock master. */
  readonly honoured: readonly string[];
  /** One line for each option with another effect, or none, on which nothing depends. */
  readonly different: readonly string[];
  /** One line for each option without which work or protection is lost. */
  readonly breaks: readonly string[];
}

/** Options of Brine itself. */
const OWN: ReadonlySet<string> = new Set(['brine']);

/**
 * Sorts the options that a stock master's files set.
 * @param written options of its files, by name
 * @param warnings Brine's warnings about them
 * @param ours options of Brine's files; undefined if both masters read the same files
 */
export function optionReport(
  written: Readonly<Record<string, unknown>>,
  warnings: readonly OptionWarning[],
  ours?: {
    readonly written: Readonly<Record<string, unknown>>;
    readonly accepted: readonly string[];
  },
): OptionReport {
  const isAccepted = ({ acceptedAs = [] }: OptionWarning): boolean =>
    acceptedAs.length > 0 && acceptedAs.every((name) => ours?.accepted.includes(name) === true);
  const warned = warnings.filter(({ option }) => option !== undefined);
  const breaking = warned.filter((one) => one.kind === 'refused' && !isAccepted(one));
  const rest = warned.filter((one) => !breaking.includes(one));
  const named = new Set(warned.map(({ option }) => option));
  const set = Object.keys(written).filter((name) => !OWN.has(name));
  const elsewhere = ours === undefined ? [] : set.filter((name) => differs(name, written, ours));
  const lost = elsewhere.map((name) => {
    const is = Object.hasOwn(ours?.written ?? {}, name) ? 'has another value' : 'is not set';
    const text = `Option '${name}' ${is} in Brine's configuration`;
    return `${text}: set it there too, or leave it on purpose`;
  });
  return {
    honoured: set.filter((name) => !named.has(name) && !elsewhere.includes(name)).sort(),
    different: [...rest.map(({ text }) => text), ...lost],
    breaks: breaking.map(({ text }) => text),
  };
}

/** Directories and ports, which differ between masters. */
const OF_THE_PLACE: ReadonlySet<string> = new Set([
  'cachedir',
  'conf_file',
  'default_include',
  'include',
  'log_file',
  'pidfile',
  'pki_dir',
  'root_dir',
  'sock_dir',
]);

function differs(
  name: string,
  written: Readonly<Record<string, unknown>>,
  ours: { readonly written: Readonly<Record<string, unknown>> },
): boolean {
  if (OF_THE_PLACE.has(name)) return false;
  return JSON.stringify(written[name]) !== JSON.stringify(ours.written[name]);
}

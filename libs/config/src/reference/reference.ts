import { isOption, type Option, type OptionTable } from '../option.ts';
import { brineOptions } from '../options/brine.ts';
import { masterOptions } from '../options/master.ts';
import { minionOptions } from '../options/minion.ts';
import { masterStandings } from '../standings/master.ts';
import { describeOption, forceOf, type OptionText } from './describe.ts';
import { MASTER_GROUPS } from './groups.ts';

/** The texts of a group of options. */
export interface ReferenceGroup {
  readonly title: string;
  readonly options: readonly OptionText[];
}

/** Options of Salt that the master does not read, for one reason. */
export interface UnreadOptions {
  /** How far they are in force, and why. */
  readonly force: string;
  readonly names: readonly string[];
}

/** The options of a table by the names they have in the file, those of nested tables too. */
export function optionsIn(
  table: OptionTable,
  prefix = '',
): readonly (readonly [name: string, option: Option<unknown>])[] {
  return Object.entries(table).flatMap(([name, entry]) =>
    isOption(entry) ? [[prefix + name, entry] as const] : optionsIn(entry, `${prefix}${name}.`),
  );
}

/** The master's options, in groups. */
export function masterReference(): ReferenceGroup[] {
  return MASTER_GROUPS.map(({ title, salt = {}, brine }) => {
    const own = Object.entries(brineOptions).filter(([name]) => brine.includes(name));
    const options = [...optionsIn(salt), ...optionsIn(Object.fromEntries(own), 'brine.')];
    return { title, options: options.map(([name, option]) => describeMaster(name, option)) };
  });
}

/** The minion's options. */
export function minionReference(): OptionText[] {
  return optionsIn(minionOptions).map(([name, option]) => describeOption(name, option, undefined));
}

/** Options of Salt's master that are not read, grouped by reason. */
export function unreadReference(): UnreadOptions[] {
  const byForce = new Map<string, string[]>();
  for (const [name, standing] of Object.entries(masterStandings)) {
    if (Object.hasOwn(masterOptions, name)) continue;
    const force = forceOf(standing);
    byForce.set(force, [...(byForce.get(force) ?? []), name]);
  }
  return [...byForce].map(([force, names]) => ({ force, names: names.sort() }));
}

function describeMaster(name: string, option: Option<unknown>): OptionText {
  const standing = Object.hasOwn(masterStandings, name) ? masterStandings[name] : undefined;
  return describeOption(name, option, standing);
}

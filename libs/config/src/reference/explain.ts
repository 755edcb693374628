import { nearestName } from '../did-you-mean.ts';
import { movedTo } from '../moved-options.ts';
import { saltOptions } from '../salt-names.ts';
import type { OptionText } from './describe.ts';
import { masterReference, minionReference, unreadReference } from './reference.ts';

/** The explanation of an option. */
export interface Explanation {
  /** False if there is no such option. */
  readonly known: boolean;
  /** Lines for a terminal; for an unknown option an error and a hint. */
  readonly text: string;
}

/**
 * Explains an option, or all options of a table as `brine.nats`, with the text of the reference.
 */
export function explainOption(name: string): Explanation {
  const master = masterReference().flatMap(({ options }) => options);
  const asked = master.filter((option) => option.name === name);
  const found = asked.length > 0 ? asked : master.filter((one) => one.name.startsWith(`${name}.`));
  if (found.length > 0) return { known: true, text: found.map(textOf).join('\n') };
  const unread = unreadReference().find(({ names }) => names.includes(name));
  if (unread !== undefined) {
    return { known: true, text: `${name}\n  An option of Salt. ${unread.force}\n` };
  }
  const minion = minionReference();
  const ofMinion = minion.find((option) => option.name === name);
  if (ofMinion !== undefined) {
    return { known: true, text: `Of the minion:\n${textOf(ofMinion)}` };
  }
  if (saltOptions().has(name)) {
    return { known: true, text: `${name}\n  An option of Salt without effect on a master here.\n` };
  }
  const moved = movedTo(name);
  if (moved !== undefined) return { known: false, text: `Option '${name}' is gone: ${moved}` };
  return { known: false, text: `No option '${name}'${hintFor(name, [...master, ...minion])}` };
}

function textOf({ name, facts, meaning, force }: OptionText): string {
  const inForce = force === '' ? 'In force.' : force;
  return `${name}\n  ${facts}\n  ${meaning}\n  ${inForce}\n`;
}

/** The likely intended name: with the same end (`workers`), or with few other letters. */
function hintFor(name: string, options: readonly OptionText[]): string {
  const names = options.map((option) => option.name);
  const unread = unreadReference().flatMap((group) => group.names);
  const longer = names.find((known) => known.endsWith(`.${name}`));
  const nearest = longer ?? nearestName(name, [...names, ...unread]);
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`;
}

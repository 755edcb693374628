import type { Option } from '../option.ts';
import type { Standing } from '../standing.ts';
import { SERVED } from '../standings/served-kinds.ts';

/** The text of an option in the reference, as Markdown. */
export interface OptionText {
  /** Its name in the file; with dots below a table. */
  readonly name: string;
  /** Type, unit, default and environment variable. */
  readonly facts: string;
  /** Its meaning. */
  readonly meaning: string;
  /** How far it is in force; empty if wholly. */
  readonly force: string;
}

/** Text for units of the tables. */
const UNITS: Readonly<Record<string, string>> = {
  h: 'hours',
  min: 'minutes',
  s: 'seconds',
  ms: 'milliseconds',
  MB: 'megabytes',
};

/** Describes an option of a table. */
export function describeOption(
  name: string,
  option: Option<unknown>,
  standing: Standing | undefined,
): OptionText {
  const unit = option.unit === undefined ? '' : `, ${UNITS[option.unit] ?? option.unit}`;
  const variable = option.env === undefined ? [] : [`variable \`${option.env}\``];
  const facts = [`${option.type}${unit}`, ...defaultOf(name, option.default), ...variable];
  const meaning = [option.doc, ...servedOf(name)].join(' ');
  return { name, facts: facts.join('; '), meaning, force: forceOf(standing) };
}

/** How far an option is in force, in one or two sentences; empty if wholly. */
export function forceOf(standing: Standing | undefined): string {
  if (standing === undefined) return '';
  const { kind, text, lost } = standing;
  const start =
    kind === 'stops' ? ' Such a master does not start: see `brine.accept_ignored`.' : '';
  const inPart = kind === 'partly' || (lost !== undefined && kind !== 'harmless');
  const words = inPart ? 'In force in part' : kind === 'harmless' ? 'Not needed' : 'Not in force';
  return `${words}: ${text}.${start}`;
}

function defaultOf(name: string, value: unknown): string[] {
  if (name === 'user') return ['default: the user that runs it'];
  if (value === undefined || value === null || value === '') return [];
  return [`default \`${typeof value === 'string' ? value : JSON.stringify(value)}\``];
}

/** The kinds that Brine has, for an option that lists kinds. */
function servedOf(name: string): string[] {
  const served: Readonly<Record<string, readonly string[]>> = SERVED;
  const kinds = Object.hasOwn(served, name) ? served[name] : undefined;
  if (kinds === undefined) return [];
  return [`Brine has ${kinds.map((kind) => `\`${kind}\``).join(', ')}.`];
}

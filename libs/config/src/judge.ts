import { isDeepStrictEqual } from 'node:util';
import type { ConfigWarning } from './errors.ts';
import { wordOf } from './kinds.ts';
import { type ConfigMap, type ConfigValue, isList } from './option.ts';
import type { Standing, StandingTable } from './standing.ts';
import type { Origin } from './table.ts';

/** Options as they were read, and the position of each. */
export interface JudgedOptions {
  readonly values: ConfigMap;
  readonly originOf: (path: string) => Origin;
  /** `brine.accept_ignored`: names of options, or `option:part`, whose loss is accepted. */
  readonly accepted: readonly string[];
}

/** An option, or parts of it, that causes a warning. */
interface Loss {
  readonly name: string;
  readonly standing: Standing;
  /** Names within its value; empty for the whole option. */
  readonly parts: readonly string[];
}

/**
 * One warning for each option that is not in force: of kind `refused` if a master must not start
 * without it. An option that asks for nothing causes none. Warnings show names within values, but
 * never values, which may be secret.
 */
export function judgeOptions(table: StandingTable, judged: JudgedOptions): ConfigWarning[] {
  const losses = lossesIn(table, judged.values);
  const warnings = losses.flatMap((loss) => warningsOf(loss, judged));
  return [...warnings, ...idleAcceptances(losses, judged)];
}

function lossesIn(table: StandingTable, values: ConfigMap): Loss[] {
  return Object.entries(values).flatMap(([name, value]): Loss[] => {
    const standing = Object.hasOwn(table, name) ? table[name] : undefined;
    if (standing === undefined || asksForNothing(value, standing.preset)) return [];
    const parts = standing.lost?.(value, values);
    const { of } = standing;
    if (parts === undefined || of === undefined) {
      return parts?.length === 0 ? [] : [{ name, standing, parts: parts ?? [] }];
    }
    return parts.map((part): Loss => {
      return { name, standing: { ...standing, ...of(part, value, values) }, parts: [part] };
    });
  });
}

/** True for an empty value, and for the default however it is written. */
function asksForNothing(value: ConfigValue, preset: ConfigValue): boolean {
  if (value === null || value === '') return true;
  if (typeof preset === 'boolean' || preset === null) return switchOf(value) === (preset ?? false);
  if (value === false) return true;
  if (typeof value === 'object' && Object.keys(value).length === 0) return true;
  // A number may be quoted, and a text may replace a list of one.
  if (typeof preset === 'number' && typeof value === 'string') return Number(value) === preset;
  if (typeof preset === 'string' && typeof value === 'number') return String(value) === preset;
  const listed = isList(preset) && !isList(value) ? [value] : value;
  return isDeepStrictEqual(plain(listed), plain(preset));
}

/** A switch as it is written in real files; undefined for other values. */
function switchOf(value: ConfigValue): boolean | undefined {
  return typeof value === 'boolean' ? value : wordOf(value);
}

/** Maps of configuration files have no prototype, which would make them differ. */
function plain(value: ConfigValue): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

function warningsOf(loss: Loss, { originOf, accepted }: JudgedOptions): ConfigWarning[] {
  const { name, standing, parts } = loss;
  const origin = originOf(name);
  const say = (kind: ConfigWarning['kind'], named: readonly string[], more = ''): ConfigWarning => {
    const of = named.length === 0 ? '' : ` (${named.join(', ')})`;
    const place = origin.line === 0 ? '' : ` in ${origin.file}, line ${origin.line},`;
    const text = `Option '${name}'${of}${place} ${HOW[standing.kind]}: ${standing.text}${more}`;
    const acceptedAs = namesOf({ ...loss, parts: named });
    const ofCommands = standing.ofCommands === true;
    return { kind, text, ...origin, option: name, acceptedAs, ofCommands };
  };
  if (standing.kind === 'harmless') return [say('harmless', parts)];
  if (standing.kind !== 'stops') return [say('unused', parts)];
  const isAccepted = accepted.includes(name);
  const stoppingText = (taken: boolean, named: readonly string[]): ConfigWarning =>
    taken ? say('unused', named, ' (accepted by brine.accept_ignored)') : say('refused', named);
  if (isAccepted || parts.length === 0) return [stoppingText(isAccepted, parts)];
  const taken = parts.filter((part) => accepted.includes(`${name}:${part}`));
  const refused = parts.filter((part) => !taken.includes(part));
  return [
    ...(taken.length > 0 ? [stoppingText(true, taken)] : []),
    ...(refused.length > 0 ? [stoppingText(false, refused)] : []),
  ];
}

const HOW: Readonly<Record<Standing['kind'], string>> = {
  stops: 'is not in force',
  ignored: 'is not in force',
  partly: 'is in force in part',
  harmless: 'is not needed',
};

/** The names by which `brine.accept_ignored` accepts a loss. */
function namesOf({ name, parts }: Loss): string[] {
  return parts.length === 0 ? [name] : parts.map((part) => `${name}:${part}`);
}

/**
 * Entries of `brine.accept_ignored` that match no ignored option: misspelt, removed, or supported.
 */
function idleAcceptances(
  losses: readonly Loss[],
  { originOf, accepted }: JudgedOptions,
): ConfigWarning[] {
  const stopping = losses.filter(({ standing }) => standing.kind === 'stops');
  const known = new Set(stopping.flatMap((loss) => [loss.name, ...namesOf(loss)]));
  const option = 'brine.accept_ignored';
  const origin = originOf(option);
  const idle = accepted.filter((name) => !known.has(name));
  return idle.map((name): ConfigWarning => {
    const place = `Option '${option}' in ${origin.file}, line ${origin.line}`;
    const text = `${place}, names '${name}', which is not set or does not stop the start`;
    return { kind: 'unused', text, ...origin, option };
  });
}

/** The losses that stop the start, and how to accept them; undefined if nothing is refused. */
export function refusalOf(warnings: readonly ConfigWarning[]): string | undefined {
  const refused = warnings.filter(({ kind }) => kind === 'refused');
  if (refused.length === 0) return undefined;
  const names = refused.flatMap(({ acceptedAs = [] }) => acceptedAs);
  return [
    'Not started: work or protection would be lost silently.',
    ...refused.map(({ text }) => `  ${text}`),
    'Remove these options, or accept to run without them:',
    '  brine:',
    `    accept_ignored: [${names.map((name) => JSON.stringify(name)).join(', ')}]`,
  ].join('\n');
}

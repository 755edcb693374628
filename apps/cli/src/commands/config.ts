import { displayOf } from '@brine/client';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
  refusalOf,
} from '@brine/config';
import {
  type EffectiveOption,
  effectiveOptions,
  explainOption,
  optionLines,
  sourceText,
  standingOf,
} from '@brine/config/reference';
import { checkForce, findingLines } from '@brine/operations/findings';
import { fromJson } from '@brine/wire/text';
import { EXIT } from '../exit-codes.ts';
import { flag, isOn, text, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { logLine, type Terminal, warnIneffective } from '../terminal.ts';

const FORM = brineForm(
  'config',
  [
    'show prints each option of the master in force, with its value and the source of that: the',
    'default, a file and its line, or an environment variable. Passwords are masked. `brine.nats`',
    'names all options below it.',
    '',
    'check names each option that is set and not in force, with the reason, and counts the others.',
    'It ends with 1 if a master would not start.',
    '',
    'explain prints the meaning of options and whether they are in force, as in the reference,',
    'libs/config/README.md. An unknown name is an error.',
  ].join('\n'),
  [
    flag(['--set'], 'set', 'Show only options that a file or the environment sets.'),
    text(['--out', '--output'], 'output', 'json, yaml, nested, raw or another outputter of salt.'),
  ],
  '[options] show [option]...|check|explain <option>...',
);

/** `brine config`. Resolves with the exit code. */
export async function runConfig(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  warnIneffective(terminal, options);
  const [verb, ...names] = options.args;
  if (verb === 'explain' && names.length > 0) return explain(names, terminal);
  if (verb !== 'show' && (verb !== 'check' || names.length > 0)) {
    throw parser.error('say show, check, or explain and an option');
  }
  let all: EffectiveOption[];
  try {
    const configDir = textValue(options, 'config_dir');
    if (verb === 'check') return check(loadMasterConfig({ configDir }), terminal);
    all = effectiveOptions({ configDir });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    return EXIT.generic;
  }
  const unknown = names.filter((name) => !all.some((option) => isMeant(option, name)));
  if (unknown.length > 0) return explain(unknown, terminal);
  const shown = all
    .filter((option) => names.length === 0 || names.some((name) => isMeant(option, name)))
    .filter(({ source }) => !isOn(options, 'set') || source.kind !== 'default');
  const out = textValue(options, 'output');
  terminal.out(out === undefined ? optionLines(shown) : outputOf(shown, out, terminal));
  return EXIT.ok;
}

/** Prints one line for each option that is not in force, then the count of the others. */
function check({ options, warnings }: LoadedConfig<MasterOptions>, terminal: Terminal): number {
  terminal.out(findingLines(checkForce(warnings)));
  const warned = new Set(warnings.map(({ option }) => option));
  const names = Object.keys(options.written).filter((name) => name !== 'brine');
  const quiet = names.filter((name) => !warned.has(name));
  const honoured = quiet.filter((name) => standingOf(name).state === 'honoured');
  terminal.out(
    `${names.length} options of Salt are set: ${honoured.length} honoured, ` +
      `${quiet.length - honoured.length} ask for what Brine does anyway, ` +
      `${names.length - quiet.length} not, or not wholly, in force\n`,
  );
  return refusalOf(warnings) === undefined ? EXIT.ok : EXIT.generic;
}

function explain(names: readonly string[], terminal: Terminal): number {
  let code: number = EXIT.ok;
  for (const name of names) {
    const { known, text } = explainOption(name);
    if (known) terminal.out(text);
    else {
      terminal.err(`brine config: ${text}\n`);
      code = EXIT.generic;
    }
  }
  return code;
}

/** True for an option of that name, or below a table of that name. */
function isMeant(option: EffectiveOption, name: string): boolean {
  return option.name === name || option.name.startsWith(`${name}.`);
}

function outputOf(
  options: readonly EffectiveOption[],
  out: string,
  { isTerminal, err }: Terminal,
): string {
  const map = Object.fromEntries(
    options.map(({ name, value, source }) => [
      name,
      { value: value ?? null, source: sourceText(source) },
    ]),
  );
  const { text, errors } = displayOf(fromJson(map), out, { color: isTerminal });
  for (const error of errors) err(`${error}\n`);
  return `${text}\n`;
}

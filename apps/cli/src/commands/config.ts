import { parseArgs } from 'node:util';
import { displayOf } from '@brine/client';
import { ConfigError } from '@brine/config';
import {
  type EffectiveOption,
  effectiveOptions,
  explainOption,
  type ValueSource,
} from '@brine/config/reference';
import { fromJson } from '@brine/wire/text';
import { EXIT } from '../exit-codes.ts';
import { logLine, type Terminal } from '../terminal.ts';

const HELP = `Usage: brine config show [option]...      show the options of the master in force
       brine config explain <option>...   say what options mean, and whether they are in force

show prints each option with its value and where that comes from: the default, a file and its line,
or an environment variable. Passwords are masked. \`brine.nats\` names all options below it.
explain prints what the reference has, libs/config/README.md. A name that no option has is an error.

  --set            show only options that a file or the environment sets
  --out <format>   json, yaml, nested, raw or another outputter of brine salt
  -c <config dir>  where the configuration is
`;

/** `brine config`. Resolves with the exit code. */
export async function runConfig(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'config-dir': { type: 'string', short: 'c' },
      set: { type: 'boolean' },
      out: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT.ok;
  }
  const [verb, ...names] = positionals;
  if (verb === 'explain' && names.length > 0) return explain(names, terminal);
  if (verb !== 'show') {
    terminal.err(HELP);
    return EXIT.usage;
  }
  let all: EffectiveOption[];
  try {
    all = effectiveOptions({ configDir: values['config-dir'] });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    return EXIT.generic;
  }
  const unknown = names.filter((name) => !all.some((option) => isMeant(option, name)));
  if (unknown.length > 0) return explain(unknown, terminal);
  const shown = all
    .filter((option) => names.length === 0 || names.some((name) => isMeant(option, name)))
    .filter(({ source }) => values.set !== true || source.kind !== 'default');
  terminal.out(values.out === undefined ? linesOf(shown) : outputOf(shown, values.out, terminal));
  return EXIT.ok;
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

/** True for an option of that name, and for those below a table of that name. */
function isMeant(option: EffectiveOption, name: string): boolean {
  return option.name === name || option.name.startsWith(`${name}.`);
}

/** One option a line: YAML, with the source as a comment. */
function linesOf(options: readonly EffectiveOption[]): string {
  return options
    .map(({ name, value, source }) => `${name}: ${valueText(value)}  # ${sourceText(source)}\n`)
    .join('');
}

function valueText(value: unknown): string {
  if (value === undefined) return 'null';
  return typeof value === 'string' && /^[\w./-]+$/.test(value) ? value : JSON.stringify(value);
}

function sourceText(source: ValueSource): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'environment':
      return source.variable;
    case 'file':
      // The lines of options that are nested deep are not known.
      return source.line === 0 ? source.file : `${source.file}:${source.line}`;
  }
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

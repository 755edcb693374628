import { EXIT, Exit, HelpExit } from '../exit-codes.ts';
import type { CommandForm, Option, OptionValue, ParsedOptions } from './command-form.ts';
import { BRINE_VERSION } from './common-groups.ts';
import { helpPage } from './help-page.ts';

/**
 * Reads a command line as Python's optparse does: long options may be abbreviated, short ones
 * joined, options and arguments mixed, `--` ends the options (Python: Lib/optparse.py).
 */
export class OptionParser {
  readonly #form: CommandForm;
  readonly #short = new Map<string, Option>();
  readonly #long = new Map<string, Option>();

  constructor(form: CommandForm) {
    this.#form = form;
    for (const option of form.groups.flatMap((group) => group.options)) {
      for (const name of option.names) {
        (name.startsWith('--') ? this.#long : this.#short).set(name, option);
      }
    }
  }

  /** @throws Exit 64 for a wrong command line, 0 for `--help` and `--version`. */
  parse(argv: readonly string[]): ParsedOptions {
    const state: ParseState = {
      rest: [...argv],
      args: [],
      values: new Map(),
      given: new Set(),
      ineffective: [],
    };
    for (const option of this.#long.values()) state.values.set(option.dest, undefined);
    for (const option of new Set([...this.#short.values(), ...this.#long.values()])) {
      const known = state.values.get(option.dest);
      if (option.default !== undefined && known === undefined) {
        state.values.set(option.dest, option.default);
      }
    }
    for (let word = state.rest.shift(); word !== undefined; word = state.rest.shift()) {
      if (word === '--') {
        state.args.push(...state.rest.splice(0));
      } else if (word.startsWith('--')) {
        this.#takeLong(word, state);
      } else if (word.startsWith('-') && word.length > 1) {
        this.#takeShort(word, state);
      } else {
        state.args.push(word);
      }
    }
    return state;
  }

  /** Ends the command with the usage line and an error text. */
  error(text: string): Exit {
    const { prog, usage } = this.#form;
    return new Exit(EXIT.usage, `Usage: ${prog} ${usage}\n\n${prog}: error: ${text}\n`);
  }

  /** The help page. */
  help(): string {
    return helpPage(this.#form);
  }

  /** The long names of the given options that are on. */
  namesOf(dests: readonly string[], options: ParsedOptions): string[] {
    return dests
      .filter((dest) => options.values.get(dest) === true)
      .map((dest) => [...this.#long].find(([, option]) => option.dest === dest)?.[0] ?? dest);
  }

  #takeLong(word: string, state: ParseState): void {
    const equals = word.indexOf('=');
    const typed = equals < 0 ? word : word.slice(0, equals);
    const name = this.#fullName(typed);
    const option = this.#long.get(name);
    if (option === undefined) throw this.error(`no such option: ${typed}`);
    if (takesValue(option)) {
      if (equals >= 0) state.rest.unshift(word.slice(equals + 1));
      this.#takeValue(option, name, state);
      return;
    }
    if (equals >= 0) throw this.error(`${name} option does not take a value`);
    this.#switchOn(option, state);
  }

  #fullName(typed: string): string {
    if (this.#long.has(typed)) return typed;
    const matches = [...this.#long.keys()].filter((name) => name.startsWith(typed)).sort();
    if (matches.length > 1) {
      throw this.error(`ambiguous option: ${typed} (${matches.join(', ')}?)`);
    }
    return matches[0] ?? typed;
  }

  #takeShort(word: string, state: ParseState): void {
    const letters = [...word.slice(1)];
    for (let letter = letters.shift(); letter !== undefined; letter = letters.shift()) {
      const name = `-${letter}`;
      const option = this.#short.get(name);
      if (option === undefined) throw this.error(`no such option: ${name}`);
      if (takesValue(option)) {
        if (letters.length > 0) state.rest.unshift(letters.splice(0).join(''));
        this.#takeValue(option, name, state);
        return;
      }
      this.#switchOn(option, state);
    }
  }

  #takeValue(option: Option, name: string, state: ParseState): void {
    const word = state.rest.shift();
    if (word === undefined) throw this.error(`${name} option requires 1 argument`);
    state.values.set(option.dest, this.#convert(option, name, word, state));
    noteGiven(option, state);
  }

  #convert(option: Option, name: string, word: string, { values }: ParseState): OptionValue {
    if (option.kind === 'list') {
      const before = values.get(option.dest);
      return [...(Array.isArray(before) ? before.map(String) : []), word];
    }
    if (option.kind === 'int') {
      const value = integerOf(word);
      if (value !== undefined) return value;
      throw this.error(`option ${name}: invalid integer value: '${word}'`);
    }
    if (option.kind === 'float') {
      if (FLOAT.test(word)) return Number(word);
      throw this.error(`option ${name}: invalid floating-point value: '${word}'`);
    }
    if (option.kind === 'choice' && option.choices?.includes(word) !== true) {
      const choices = option.choices?.map((choice) => `'${choice}'`).join(', ') ?? '';
      throw this.error(`option ${name}: invalid choice: '${word}' (choose from ${choices})`);
    }
    return word;
  }

  #switchOn(option: Option, state: ParseState): void {
    const { prog, version } = this.#form;
    if (option.kind === 'help') throw new HelpExit(this.help(), this.#form);
    if (option.kind === 'version') throw new HelpExit(`${prog} ${version}\n`);
    if (option.kind === 'report') throw new HelpExit(versionsReport(version));
    state.values.set(option.dest, option.kind === 'flag');
    noteGiven(option, state);
  }
}

interface ParseState {
  readonly rest: string[];
  readonly args: string[];
  readonly values: Map<string, OptionValue>;
  readonly given: Set<string>;
  readonly ineffective: string[];
}

function noteGiven(option: Option, { given, ineffective }: ParseState): void {
  if (option.instead !== undefined && !given.has(option.dest)) {
    const name = option.names.find((one) => one.startsWith('--')) ?? option.dest;
    ineffective.push(`${name} has no effect here: ${option.instead}`);
  }
  given.add(option.dest);
}

function takesValue(option: Option): boolean {
  return ['text', 'list', 'int', 'float', 'choice'].includes(option.kind);
}

/** As optparse: `0x` and `0b` name a base; any other leading zero means octal. */
const INTEGERS: readonly (readonly [form: RegExp, base: number])[] = [
  [/^0x([\da-f]+(?:_[\da-f]+)*)\s*$/, 16],
  [/^0b([01]+(?:_[01]+)*)\s*$/, 2],
  [/^(0|0o?_?[0-7]+(?:_[0-7]+)*)\s*$/, 8],
  [/^(?!0)\s*([+-]?\d+(?:_\d+)*)\s*$/, 10],
];
const FLOAT = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

function integerOf(word: string): number | undefined {
  const text = word.toLowerCase();
  for (const [form, base] of INTEGERS) {
    const digits = form.exec(text)?.[1];
    if (digits === undefined) continue;
    return Number.parseInt(digits.replace('0o', '').replaceAll('_', ''), base);
  }
  return undefined;
}

function versionsReport(version: string): string {
  const { node, v8, uv, openssl } = process.versions;
  const rows = [
    ['Brine', BRINE_VERSION],
    ['Salt', version],
    ['Node.js', node],
    ['OpenSSL', openssl],
    ['V8', v8],
    ['libuv', uv],
  ];
  return rows.map(([name, value]) => `${(name ?? '').padStart(12)}: ${value ?? ''}\n`).join('');
}

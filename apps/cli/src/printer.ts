import { appendFileSync, existsSync, truncateSync } from 'node:fs';
import { DEFAULT_STATE_DISPLAY, displayOf, type DisplayOptions, jointOf } from '@brine/client';
import type { ConfigValue, MasterOptions } from '@brine/config';
import { errorText } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import { unhandled } from './exit-codes.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from './options/command-form.ts';
import type { OptionParser } from './options/option-parser.ts';
import { siteOutputters } from './site-outputters.ts';
import { logLine, type Terminal } from './terminal.ts';

/** Options of the master's file that a printer reads. */
export type DisplayConfig = Pick<
  MasterOptions,
  | 'output'
  | 'color'
  | 'stateOutput'
  | 'stateVerbose'
  | 'stateOutputDiff'
  | 'stateOutputProfile'
  | 'stateOutputPct'
  | 'stateCompressIds'
  | 'stateTabular'
  | 'stateOutputExclude'
  | 'stateOutputTerse'
> & { readonly brine?: undefined };

/** Facts of a command that change the display. */
export interface DisplayedCommand {
  readonly static?: boolean;
  readonly fun?: string;
  /** The keyword arguments of its function: `exclude` and `terse` are for `filter` too. */
  readonly kwargs?: SaltMap | undefined;
}

/** Defaults for commands that do not read that file. */
export const DISPLAY_DEFAULTS: DisplayConfig = {
  output: '',
  color: true,
  stateOutput: 'full',
  stateVerbose: true,
  stateOutputDiff: false,
  stateOutputProfile: true,
  stateOutputPct: false,
  stateCompressIds: false,
  stateTabular: false,
  stateOutputExclude: [],
  stateOutputTerse: [],
};

/** Shows results according to options and configuration. */
export class Printer {
  readonly options: DisplayOptions;
  readonly #terminal: Terminal;
  readonly #file: string | undefined;

  constructor(
    parsed: ParsedOptions,
    config: MasterOptions | DisplayConfig,
    terminal: Terminal,
    { kwargs, ...how }: DisplayedCommand = {},
  ) {
    const output =
      textValue(parsed, 'output') ?? (config.output === '' ? undefined : config.output);
    const indent = numberValue(parsed, 'output_indent');
    const plain = isOn(parsed, 'no_color') || !config.color;
    const arg = {
      output: textValue(parsed, 'state_output') ?? config.stateOutput,
      verbose: verboseOf(textValue(parsed, 'state_verbose')) ?? config.stateVerbose,
      diff: isOn(parsed, 'state_output_diff') || config.stateOutputDiff,
      profile: config.stateOutputProfile,
      percent: config.stateOutputPct,
      compressIds: config.stateCompressIds,
      tabular: config.stateTabular,
      exclude: resultsOf(kwargs, 'exclude', config.stateOutputExclude),
      terse: resultsOf(kwargs, 'terse', config.stateOutputTerse),
    };
    this.#terminal = terminal;
    this.#file = textValue(parsed, 'output_file');
    const file = this.#file !== undefined;
    this.options = {
      ...how,
      color: isOn(parsed, 'force_color') || (!plain && !file && terminal.isTerminal),
      state: { ...DEFAULT_STATE_DISPLAY, ...arg },
      ...(output === undefined ? {} : { output }),
      ...(indent === undefined ? {} : { indent }),
      ...(config.brine === undefined || config.brine.python === ''
        ? {}
        : { others: siteOutputters(config, terminal) }),
    };
  }

  /**
   * Prints one display; false if no outputter could show it.
   * @throws Exit 1 if the output file can not be written
   */
  show(data: SaltValue, out: string | undefined, retcode = 0): boolean {
    const display = displayOf(data, out, this.options, retcode);
    for (const line of display.errors) logLine(this.#terminal, 'ERROR', line);
    if (display.text !== '') this.#write(`${display.text}\n`);
    return display.failed !== true;
  }

  /**
   * Prints parts of one map, in the order of its keys, as they arrive and as fast as the reader
   * takes them. If the outputter cannot join parts, prints the map at the end.
   * @throws as show.
   */
  async showParts(parts: AsyncIterable<SaltMap>, out: string | undefined): Promise<void> {
    const joint = jointOf(out, this.options);
    const whole: SaltMap = new Map();
    let isOpen = false;
    for await (const part of parts) {
      if (joint === undefined) {
        for (const [key, value] of part) whole.set(key, value);
        continue;
      }
      for (const body of this.#bodies(part, out, joint.body)) {
        this.#write((isOpen ? joint.between : joint.open) + body);
        isOpen = true;
      }
      await this.#terminal.flush?.();
    }
    if (joint !== undefined && isOpen) this.#write(joint.close);
    else this.show(whole, out);
  }

  /** The texts of a part: one, or one per entry if the outputter cannot show all of them. */
  #bodies(
    part: SaltMap,
    out: string | undefined,
    bodyOf: (text: string) => string,
  ): readonly string[] {
    if (part.size === 0) return [];
    const display = displayOf(part, out, this.options);
    const body = bodyOf(display.text);
    if (body !== '') return [body];
    if (part.size > 1)
      return [...part].flatMap((entry) => this.#bodies(new Map([entry]), out, bodyOf));
    for (const key of part.keys()) {
      const name = typeof key === 'string' ? key : 'an entry';
      logLine(this.#terminal, 'ERROR', `${name} can not be shown by this outputter`);
    }
    return [];
  }

  #write(text: string): void {
    if (this.#file === undefined) {
      this.#terminal.out(text);
      return;
    }
    try {
      appendFileSync(this.#file, text);
    } catch (error) {
      throw unhandled(this.#terminal, osErrorText(error, this.#file));
    }
  }
}

/**
 * Empties the output file, as Salt does when it reads the options.
 * @throws Exit 64 if the file is not writable.
 */
export function emptyOutputFile(parsed: ParsedOptions, parser: OptionParser): void {
  const file = textValue(parsed, 'output_file');
  if (file === undefined || isOn(parsed, 'output_file_append') || !existsSync(file)) return;
  try {
    truncateSync(file);
  } catch (error) {
    throw parser.error(`${file}: Access denied: ${osErrorText(error, file)}`);
  }
}

const PYTHON_ERRORS: ReadonlyMap<string, readonly [name: string, number: number, text: string]> =
  new Map([
    ['ENOENT', ['FileNotFoundError', 2, 'No such file or directory']],
    ['EACCES', ['PermissionError', 13, 'Permission denied']],
    ['EEXIST', ['FileExistsError', 17, 'File exists']],
    ['EISDIR', ['IsADirectoryError', 21, 'Is a directory']],
    ['ENOTDIR', ['NotADirectoryError', 20, 'Not a directory']],
    ['EROFS', ['OSError', 30, 'Read-only file system']],
    ['ENOSPC', ['OSError', 28, 'No space left on device']],
  ]);

/** An error of the operating system as Python prints it. */
export function osErrorText(error: unknown, path: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = PYTHON_ERRORS.get(code);
  if (known === undefined) return errorText(error);
  const [name, number, text] = known;
  return `${name}: [Errno ${number}] ${text}: '${path}'`;
}

/** The results named by an argument, or else by an option. Only texts count. */
function resultsOf(kwargs: SaltMap | undefined, name: string, option: ConfigValue): SaltValue {
  if (kwargs?.has(name) === true) return kwargs.get(name) ?? null;
  if (option === null || typeof option !== 'object') return option;
  const names = Array.isArray(option) ? (option as readonly ConfigValue[]) : Object.keys(option);
  return names.filter((one) => typeof one === 'string');
}

function verboseOf(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  // Any other text is true, as in Python.
  return text !== 'False' && text !== 'false';
}

import type { SaltValue } from '@brine/wire';
import { stripEnd } from '@brine/wire/text';
import { YamlEmitter } from '@brine/yaml';
import { highstateOutput } from './highstate.ts';
import { jsonOutput } from './json.ts';
import { nestedOutput } from './nested.ts';
import { newlineValuesOutput, profileOutput, quietOutput } from './older.ts';
import {
  DEFAULT_STATE_DISPLAY,
  type OutputContext,
  type Outputter,
  type StateDisplay,
  UnfitDataError,
} from './outputter.ts';
import { keyOutput, noReturnOutput, pprintOutput, rawOutput, textOutput } from './plain.ts';
import { tableOutput } from './table.ts';

const OUTPUTTERS: ReadonlyMap<string, Outputter> = new Map<string, Outputter>([
  ['nested', nestedOutput],
  ['json', jsonOutput],
  ['yaml', yamlOutput],
  ['txt', textOutput],
  ['raw', rawOutput],
  ['pprint', pprintOutput],
  ['no_return', noReturnOutput],
  ['key', keyOutput],
  ['highstate', highstateOutput],
  ['table', tableOutput],
  ['quiet', quietOutput],
  ['newline_values_only', newlineValuesOutput],
  ['profile', profileOutput],
]);

function yamlOutput(data: SaltValue, context: OutputContext): string {
  const indent = context.indent;
  if (typeof indent !== 'number') return new YamlEmitter().dump(data);
  return indent >= 0 ? new YamlEmitter(indent).dump(data) : new YamlEmitter(0, true).dump(data);
}

/** How the user wants the results. */
export interface DisplayOptions {
  /** `--out`; it wins over what a return asks for, except `highstate`. */
  readonly output?: string;
  readonly color: boolean;
  readonly indent?: number | 'pretty';
  readonly state?: StateDisplay;
  /** `--static` and the function, by which state runs find their outputter. */
  readonly static?: boolean;
  readonly fun?: string;
  /** Finds an outputter that is not among those of Brine. */
  readonly others?: (name: string) => Outputter | undefined;
}

/** The text of a display, and log lines for stderr. */
export interface Display {
  readonly text: string;
  readonly errors: readonly string[];
  /** True if Salt fails on the return: for the exit code it counts as missing. */
  readonly failed?: true;
}

/**
 * The text that Salt prints for a value (Salt: salt/output/__init__.py try_printout): the wanted
 * outputter, or nested if that cannot show it, or raw if nested cannot either. Trailing white space
 * is stripped.
 */
export function displayOf(
  data: SaltValue,
  out: string | undefined,
  options: DisplayOptions,
  retcode = 0,
): Display {
  const context: OutputContext = {
    color: options.color,
    retcode,
    nestedIndent: 0,
    state: options.state ?? DEFAULT_STATE_DISPLAY,
    ...(options.indent === undefined ? {} : { indent: options.indent }),
  };
  const errors: string[] = [];
  for (const wanted of [out, 'nested', 'raw']) {
    const name = chooseOutputter(wanted, options);
    const outputter = OUTPUTTERS.get(name) ?? options.others?.(name);
    // Old minions still ask for `grains`: use nested without a warning.
    if (outputter === undefined && name !== 'grains') {
      errors.push(`Invalid outputter ${name} specified, fall back to nested`);
    }
    try {
      const text = (outputter ?? nestedOutput)(data, context);
      return { text: stripEnd(text ?? ''), errors };
    } catch (error) {
      if (!(error instanceof UnfitDataError)) throw error;
      if (wanted === 'nested') errors.push(`Nested output failed: \n${error.message}`);
    }
  }
  return { text: '', errors, failed: true };
}

/** The name of the outputter that shows a value (Salt: salt/output/__init__.py get_printout). */
function chooseOutputter(wanted: string | undefined, options: DisplayOptions): string {
  let name = wanted;
  if (options.output !== undefined && options.output !== 'highstate') name = options.output;
  if ((name === undefined || name === '') && options.static === true) {
    if (options.output !== undefined) name = options.output;
    else if (options.fun?.split('.')[0] === 'state') name = 'highstate';
  }
  if (name === 'text') return 'txt';
  return name === undefined || name === '' ? 'nested' : name;
}

/** Joins the texts of the parts of a map, in the order of its keys, to the text of the map. */
export interface Joint {
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** The text of a part inside the whole; empty if the outputter could not show the part. */
  readonly body: (text: string) => string;
}

/**
 * How the chosen outputter joins parts of a map; undefined if it cannot. With it an unbounded
 * result is shown as it arrives and is never in memory as a whole.
 */
export function jointOf(out: string | undefined, options: DisplayOptions): Joint | undefined {
  const name = chooseOutputter(out, options);
  const isOneLine = typeof options.indent === 'number' && options.indent < 0;
  if (name === 'json') {
    const end = isOneLine ? '' : '\n';
    return {
      open: `{${end}`,
      between: `,${end === '' ? ' ' : end}`,
      close: `${end}}\n`,
      body: (text) => text.slice(1 + end.length, -1 - end.length),
    };
  }
  if (name !== 'nested' && (name !== 'yaml' || isOneLine)) return undefined;
  return { open: '', between: '\n', close: '\n', body: (text) => text };
}

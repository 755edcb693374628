import { type OutputContext, type Outputter, UnfitDataError } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { type BlockingCalls, PythonCallError, startBlockingHost } from '@brine/python-host';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { logLine, type Terminal } from './terminal.ts';

/** Form of the name of an outputter. */
const OUTPUTTER_NAME = /^\w+$/;

/** Exceptions after which Salt shows the data by another outputter (salt/output/__init__.py). */
const UNFIT = ['KeyError', 'AttributeError', 'TypeError'];

/**
 * Finds the outputters of the site and of Salt, in Python. The interpreter starts with the first
 * name that Brine lacks, and ends with this command.
 */
export function siteOutputters(
  config: MasterOptions,
  terminal: Terminal,
): (name: string) => Outputter | undefined {
  const { python, pythonMemory, pythonTimeout } = config.brine;
  const found = new Map<string, Outputter | undefined>();
  let host: BlockingCalls | undefined;
  const calls = (): BlockingCalls => {
    host ??= startBlockingHost({
      python,
      configFile: config.confFile,
      memoryBytes: pythonMemory,
      runnerMs: pythonTimeout * 1000,
    });
    return host;
  };
  return (name) => {
    if (!OUTPUTTER_NAME.test(name)) return undefined;
    if (!found.has(name)) {
      const isThere = ask(terminal, () => calls().call('output', 'has', mapOf({ name })));
      const outputter: Outputter = (data, context) => {
        const given = mapOf({ name, data, retcode: context.retcode, options: optionsOf(context) });
        return textIn(name, terminal, () => calls().call('output', 'output', given));
      };
      found.set(name, isThere === true ? outputter : undefined);
    }
    return found.get(name);
  };
}

function ask(terminal: Terminal, call: () => SaltValue): SaltValue {
  try {
    return call();
  } catch (error) {
    logLine(terminal, 'ERROR', (error as Error).message);
    return null;
  }
}

/**
 * The text of an outputter; undefined if it prints nothing.
 * @throws UnfitDataError if it cannot show the data
 */
function textIn(name: string, terminal: Terminal, call: () => SaltValue): string | undefined {
  try {
    const text = call();
    return typeof text === 'string' ? text : undefined;
  } catch (error) {
    const { message } = error as Error;
    const python = error instanceof PythonCallError ? error.python : undefined;
    const isUnfit = python !== undefined && UNFIT.includes(python);
    if (!isUnfit) logLine(terminal, 'ERROR', `outputter ${name}: ${message}`);
    throw new UnfitDataError('TypeError', message);
  }
}

/** The options that outputters read, by Salt's names. */
function optionsOf({ color, indent, state }: OutputContext): SaltMap {
  return mapOf({
    color,
    output_indent: indent,
    state_output: state.output,
    state_verbose: state.verbose,
    state_output_diff: state.diff,
    state_output_profile: state.profile,
    state_tabular: state.tabular,
    state_output_exclude: state.exclude,
    state_output_terse: state.terse,
  });
}

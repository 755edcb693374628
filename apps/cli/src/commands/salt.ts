import {
  type Command,
  MasterUnreachableError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import { isMap, mapOf, type SaltMap } from '@brine/wire';
import { mayTrace } from '../command-span.ts';
import { codeFor, EXIT, unhandled } from '../exit-codes.ts';
import { findMaster } from '../find-master.ts';
import type { ApiOption, MasterPlace } from '../master-place.ts';
import { isOn, numberValue, type ParsedOptions } from '../options/command-form.ts';
import { OptionParser } from '../options/option-parser.ts';
import { emptyOutputFile, Printer } from '../printer.ts';
import { credentialsFor } from '../salt/credentials.ts';
import { runAndShow, type SaltRun } from '../salt/run-and-show.ts';
import { asSaltError, isNodegroup, pythonName, type SaltError } from '../salt/salt-errors.ts';
import {
  checkTargetKinds,
  isBatched,
  optionKwargs,
  readCommand,
  SALT_FORM,
  type SaltCommand,
} from '../salt/salt-options.ts';
import { logLine, type Terminal } from '../terminal.ts';

/** `salt`: publishes a command and shows the returns. Returns the exit code. */
export async function runSalt(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(SALT_FORM);
  const options = await withInput(parser, parser.parse(args), terminal);
  emptyOutputFile(options, parser);
  const codes = { refused: EXIT.noReturn, unreachable: EXIT.noReturn };
  const place = await findMaster(options, terminal, api, codes);
  const { config } = place;
  checkTargetKinds(options, parser);
  if (isOn(options, 'config_dump')) {
    const { dumpConfig } = await import('../config-dump.ts');
    terminal.out(dumpConfig(config));
    return EXIT.ok;
  }
  if (isOn(options, 'watch')) return watch(options, place, terminal);
  const parsed = readCommand(options, parser, terminal);
  const printer = new Printer(options, config, terminal, {
    static: isOn(options, 'static'),
    fun: typeof parsed.fun === 'string' ? parsed.fun : parsed.fun.join(','),
    kwargs: parsed.arg.findLast(
      (one): one is SaltMap => isMap(one) && one.get('__kwarg__') === true,
    ),
  });
  // The events of a batch are of no single job.
  const events = isBatched(options) ? 'all' : 'own';
  const master = place.open({ ...waitOf(options), events });
  try {
    const base = { options, config, terminal, printer, client: master.client };
    // Behind an API the session proves the caller.
    const credentials = place.api === undefined ? await credentialsFor(base) : mapOf({});
    return await run(base, parsed, credentials);
  } finally {
    await master.close();
  }
}

/** `-t`, if it was given. */
function waitOf(options: ParsedOptions): { readonly timeoutMs?: number } {
  const seconds = numberValue(options, 'timeout') ?? 0;
  return options.given.has('timeout') && seconds > 0 ? { timeoutMs: seconds * 1000 } : {};
}

async function watch(
  options: ParsedOptions,
  place: MasterPlace,
  terminal: Terminal,
): Promise<number> {
  const { config } = place;
  const master = place.open({ ...waitOf(options), events: 'all' });
  const base = { options, config, terminal, client: master.client };
  const printer = new Printer(options, config, terminal);
  try {
    const { watchJob } = await import('../salt/watch.ts');
    return await watchJob({ ...base, printer }, options.args[0]);
  } catch (error) {
    const known = asSaltError(error);
    if (known === undefined) throw error;
    return showError({ ...base, printer }, known, false);
  } finally {
    await master.close();
  }
}

async function run(
  base: Omit<SaltRun, 'command'>,
  parsed: SaltCommand,
  credentials: SaltMap,
): Promise<number> {
  const { options, config } = base;
  const batched = isBatched(options);
  const kwargs = optionKwargs(options, config);
  for (const [name, value] of credentials) kwargs.set(name, value);
  const command: Command = { ...parsed, kwargs, recordsRoot: mayTrace(config) };
  try {
    if (isOn(options, 'preview_target')) {
      const { previewTarget } = await import('../salt/preview.ts');
      return await previewTarget(command, base.client, base.printer, base.terminal);
    }
    const limit = numberValue(options, 'batch_safe_limit') || config.batchSafeLimit;
    if (batched || limit > 1) {
      const { runInBatches } = await import('../salt/batches.ts');
      return await runInBatches({ ...base, command }, batched ? undefined : limit);
    }
    return await runAndShow({ ...base, command });
  } catch (error) {
    const known = asSaltError(error);
    if (known === undefined) throw error;
    return showError(base, known, batched);
  }
}

/**
 * Salt prints these errors as a result, and exits with 0 except for `--async` and batches. Here the
 * code is 0 only with `brine.exit_codes: stock`.
 */
function showError(
  { terminal, options, printer, config }: Omit<SaltRun, 'command'>,
  error: SaltError,
  batched: boolean,
): number {
  if (error instanceof MasterUnreachableError && error.hint !== undefined) {
    logLine(terminal, 'ERROR', error.hint);
  }
  if (error instanceof RequestTimeoutError) logLine(terminal, 'ERROR', error.message);
  if (isOn(options, 'async') || batched) {
    throw unhandled(terminal, `${pythonName(error)}: ${error.message}`);
  }
  printer.show(error.message, '', 1);
  const notRun =
    error instanceof MasterUnreachableError ||
    error instanceof RequestTimeoutError ||
    (error instanceof RefusedError && !isNodegroup(error));
  return notRun ? codeFor(config, { strict: EXIT.noReturn, stock: EXIT.ok }) : EXIT.ok;
}

/** `--args-stdin`: the options read there replace the given ones, the arguments are added. */
async function withInput(
  parser: OptionParser,
  options: ParsedOptions,
  terminal: Terminal,
): Promise<ParsedOptions> {
  if (!isOn(options, 'args_stdin')) return options;
  const lines = (await terminal.readInput()).replace(/\n$/, '').split('\n');
  const more = parser.parse(lines.map((line) => line.replace(/[\r\n]+$/, '')));
  return { ...more, args: [...options.args, ...more.args] };
}

import {
  BatchSizeError,
  type Command,
  type CompoundCommandError,
  MasterUnreachableError,
  NodegroupError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import { emptyOutputFile, Printer, unhandled } from '../display-settings.ts';
import { EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { openMasterLink } from '../master-link.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from '../options/option.ts';
import { OptionParser } from '../options/parser.ts';
import { SALT_FORM, TARGET_KINDS } from '../options/salt-form.ts';
import { login } from '../salt/login.ts';
import { readCommand, type SaltCommand } from '../salt/read-command.ts';
import { runAndShow } from '../salt/run-and-show.ts';
import type { SaltRun } from '../salt/salt-run.ts';
import { logLine, type Terminal } from '../terminal.ts';

/** `salt`: publishes a command and shows the returns. Gives the exit code. */
export async function runSalt(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(SALT_FORM);
  const options = await withInput(parser, parser.parse(args), terminal);
  const targets = parser.namesOf(TARGET_KINDS, options);
  emptyOutputFile(options, parser);
  const config = readMasterConfig(options, terminal);
  if (targets.length > 1) {
    const names = targets.join('/');
    throw parser.error(
      `The options ${names} are mutually exclusive. Please only choose one of them`,
    );
  }
  if (isOn(options, 'config_dump')) {
    const { dumpConfig } = await import('../config-dump.ts');
    terminal.out(dumpConfig(config));
    return EXIT.ok;
  }
  const parsed = readCommand(options, parser, terminal);
  const printer = new Printer(options, config, terminal, {
    static: isOn(options, 'static'),
    fun: typeof parsed.fun === 'string' ? parsed.fun : parsed.fun.join(','),
  });
  if (isOn(options, 'preview_target')) {
    // Judging targets is the heaviest part of this command, and hardly ever needed here.
    const { previewTarget } = await import('../salt/preview.ts');
    return previewTarget(parsed, config, printer, terminal);
  }
  const seconds = numberValue(options, 'timeout') ?? 0;
  const given = options.given.has('timeout') && seconds > 0;
  const link = openMasterLink(config, terminal, given ? { timeoutMs: seconds * 1000 } : {});
  try {
    return await runWith({ options, config, terminal, printer, link }, parsed);
  } finally {
    await link.close();
  }
}

async function runWith(run: Omit<SaltRun, 'command'>, parsed: SaltCommand): Promise<number> {
  const { options, config } = run;
  const batched = isOn(options, 'static') || textValue(options, 'batch') !== undefined;
  const kwargs = await login(run, parsed);
  const command: Command = { ...parsed, kwargs };
  try {
    const limit = numberValue(options, 'batch_safe_limit') || config.batchSafeLimit;
    if (batched || limit > 1) {
      const { runInBatches } = await import('../salt/batches.ts');
      return await runInBatches({ ...run, command }, batched ? undefined : limit);
    }
    return await runAndShow({ ...run, command });
  } catch (error) {
    if (!isSaltError(error)) throw error;
    return showError(run, error, batched);
  }
}

type SaltError =
  | MasterUnreachableError
  | RequestTimeoutError
  | RefusedError
  | NodegroupError
  | BatchSizeError
  | CompoundCommandError;

function isSaltError(error: unknown): error is SaltError {
  return (
    error instanceof MasterUnreachableError ||
    error instanceof RequestTimeoutError ||
    error instanceof RefusedError ||
    error instanceof NodegroupError ||
    error instanceof BatchSizeError
  );
}

/** Salt prints these as a result and exits with 0, but for `--async` and batches. */
function showError(run: Omit<SaltRun, 'command'>, error: SaltError, batched: boolean): number {
  if (error instanceof MasterUnreachableError && error.hint !== undefined) {
    logLine(run.terminal, 'ERROR', error.hint);
  }
  if (error instanceof RequestTimeoutError) logLine(run.terminal, 'ERROR', error.message);
  if (isOn(run.options, 'async') || batched) {
    throw unhandled(run.terminal, `${pythonName(error)}: ${error.message}`);
  }
  run.printer.show(error.message, '', 1);
  return EXIT.ok;
}

function pythonName(error: SaltError): string {
  if (error instanceof BatchSizeError || error instanceof NodegroupError) {
    return 'SaltInvocationError';
  }
  return error instanceof RefusedError ? error.name : 'SaltClientError';
}

/** `--args-stdin`: what is read there replaces the options, its arguments are added. */
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

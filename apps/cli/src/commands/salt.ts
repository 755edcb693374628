import {
  BatchSizeError,
  type Command,
  MasterUnreachableError,
  NodegroupError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import { mayTrace } from '../command-span.ts';
import { EXIT, unhandled } from '../exit-codes.ts';
import { openLocalMaster } from '../local-master.ts';
import { readMasterConfig } from '../master-config.ts';
import { isOn, numberValue, type ParsedOptions } from '../options/command-form.ts';
import { OptionParser } from '../options/option-parser.ts';
import { emptyOutputFile, Printer } from '../printer.ts';
import { credentialsFor } from '../salt/credentials.ts';
import { runAndShow, type SaltRun } from '../salt/run-and-show.ts';
import {
  checkTargetKinds,
  isBatched,
  optionKwargs,
  readCommand,
  SALT_FORM,
  type SaltCommand,
} from '../salt/salt-options.ts';
import { logLine, type Terminal } from '../terminal.ts';

/** `salt`: publishes a command and shows the returns. Gives the exit code. */
export async function runSalt(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(SALT_FORM);
  const options = await withInput(parser, parser.parse(args), terminal);
  emptyOutputFile(options, parser);
  const config = readMasterConfig(options, terminal);
  checkTargetKinds(options, parser);
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
    // Loaded here alone: judging targets is the heaviest part of this command.
    const { previewTarget } = await import('../salt/preview.ts');
    return previewTarget(parsed, config, printer, terminal);
  }
  const seconds = numberValue(options, 'timeout') ?? 0;
  const given = options.given.has('timeout') && seconds > 0;
  const master = openLocalMaster(config, terminal, given ? { timeoutMs: seconds * 1000 } : {});
  try {
    return await run({ options, config, terminal, printer, client: master.client }, parsed);
  } finally {
    await master.close();
  }
}

async function run(base: Omit<SaltRun, 'command'>, parsed: SaltCommand): Promise<number> {
  const { options, config } = base;
  const batched = isBatched(options);
  const kwargs = optionKwargs(options);
  for (const [name, value] of await credentialsFor(base)) kwargs.set(name, value);
  const command: Command = { ...parsed, kwargs, recordsRoot: mayTrace(config) };
  try {
    const limit = numberValue(options, 'batch_safe_limit') || config.batchSafeLimit;
    if (batched || limit > 1) {
      const { runInBatches } = await import('../salt/batches.ts');
      return await runInBatches({ ...base, command }, batched ? undefined : limit);
    }
    return await runAndShow({ ...base, command });
  } catch (error) {
    if (!isSaltError(error)) throw error;
    return showError(base, error, batched);
  }
}

const SALT_ERRORS = [
  MasterUnreachableError,
  RequestTimeoutError,
  RefusedError,
  NodegroupError,
  BatchSizeError,
] as const;

type SaltError = InstanceType<(typeof SALT_ERRORS)[number]>;

function isSaltError(error: unknown): error is SaltError {
  return SALT_ERRORS.some((kind) => error instanceof kind);
}

/** Salt prints these as a result and exits with 0, but for `--async` and batches. */
function showError(
  { terminal, options, printer }: Omit<SaltRun, 'command'>,
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
  return EXIT.ok;
}

function pythonName(error: SaltError): string {
  if (error instanceof BatchSizeError || error instanceof NodegroupError) {
    return 'SaltInvocationError';
  }
  return error instanceof RefusedError ? error.name : 'SaltClientError';
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

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  bindArguments,
  InvalidArgumentsError,
  JobRecords,
  MasterUnreachableError,
  parseArguments,
  RefusedError,
  RequestTimeoutError,
  type RunnerContext,
  type RunnerFunction,
  RUNNERS,
  splitKeywords,
  UnknownKeywordError,
} from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { emptyOutputFile, Printer } from '../display-settings.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { openMasterLink } from '../master-link.ts';
import {
  ARGUMENT_OPTIONS,
  BASE_OPTIONS,
  eauthGroup,
  loggingGroup,
  outputGroup,
  SALT_VERSION,
  timeoutOption,
} from '../options/common-groups.ts';
import {
  flag,
  isOn,
  numberValue,
  type ParsedOptions,
  text,
  textValue,
  withoutEffect,
} from '../options/option.ts';
import { type CommandForm } from '../options/option.ts';
import { OptionParser } from '../options/parser.ts';
import type { RemoteCall } from '../runners/by-login.ts';
import { EXCHANGE_RUNNER } from '../runners/exchange.ts';
import { credentialsFor } from '../salt/login.ts';
import { mayTrace, recordCommand, spanTime } from '../salt/request-span.ts';
import type { Terminal } from '../terminal.ts';

const PROFILE = 'traces tell the times: brine trace';

const RUN_FORM: CommandForm = {
  prog: 'salt-run',
  usage: '[options] <function> [arguments]',
  description: 'Runs a function on the master: looks up jobs, tells which minions are up.',
  version: SALT_VERSION,
  groups: [
    {
      title: 'Options',
      options: [
        ...BASE_OPTIONS,
        timeoutOption(1),
        flag(['-d', '--doc', '--documentation'], 'doc', 'Show what functions there are.'),
        flag(['--async'], 'async', 'Run it in the master; its events tell what it returns.'),
        withoutEffect(flag(['--skip-grains'], 'skip_grains', ''), 'the master has no grains'),
        ...ARGUMENT_OPTIONS,
        withoutEffect(text(['--jid'], 'jid', ''), 'the master gives each run a job id'),
        flag(['--missing'], 'missing', 'jobs.rerun: those that have not returned.'),
        text(['--since'], 'since', 'jobs.export: all jobs since this time.'),
      ],
    },
    loggingGroup(true),
    outputGroup([flag(['--quiet'], 'quiet', 'Show no result.')]),
    {
      title: 'Profiling',
      options: [
        withoutEffect(text(['--profiling-path'], 'profiling_path', ''), PROFILE),
        withoutEffect(flag(['--enable-profiling'], 'profiling_enabled', ''), PROFILE),
      ],
    },
    eauthGroup(true),
  ],
};

const FUNCTIONS: ReadonlyMap<string, RunnerFunction> = new Map(
  [...RUNNERS, ...EXCHANGE_RUNNER].map((fun) => [fun.name, fun]),
);

/** `salt-run`: runs a function on the master and shows what it returns. */
export async function runRunner(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(RUN_FORM);
  const options = parser.parse(args);
  emptyOutputFile(options, parser);
  const config = readMasterConfig(options, terminal);
  const [name, ...words] = options.args;
  if (isOn(options, 'doc') && words.length > 0) {
    throw parser.error('You can only get documentation for one method at one time');
  }
  const printer = new Printer(options, config, terminal);
  if (name === undefined || isOn(options, 'doc')) {
    const found = showDocs(name ?? '', isOn(options, 'doc'), printer, terminal.out);
    if (!found) terminal.err(`No runner function is named '${name ?? ''}'.\n`);
    return EXIT.ok;
  }
  const fun = FUNCTIONS.get(name);
  if (fun === undefined) {
    // Salt ends with 0 here: a script would take a runner that never ran for done.
    printer.show(`'${name}' is not available.`, 'nested');
    return EXIT.generic;
  }
  const noParse = (textValue(options, 'no_parse') ?? '').split(',');
  const seconds = options.given.has('timeout') ? (numberValue(options, 'timeout') ?? 0) : 0;
  const span = await beginRunSpan(config, name);
  const link = openMasterLink(config, terminal, {
    ...(seconds > 0 ? { timeoutMs: seconds * 1000 } : {}),
    ...(span === undefined ? {} : { traceparent: span.traceparent }),
  });
  const jobs = new JobRecords(link.client);
  try {
    const context = {
      client: link.client,
      jobs,
      out: terminal.out,
      auditSeal: () => auditSealOf(config.pkiDir),
    };
    const given = [...parseArguments(words, noParse), ...ownOptions(options)];
    const remote = await remoteCall({ options, config, terminal, client: link.client }, fun, given);
    if (remote !== undefined) {
      const { runInMaster } = await import('../runners/by-login.ts');
      return await runInMaster(link, remote, { printer, terminal, options });
    }
    return await call(fun, given, context, printer, options);
  } finally {
    await span?.finish();
    await link.close();
  }
}

/** Needs `master.pem`, so only who may read it can judge the record. */
async function auditSealOf(pkiDir: string) {
  const { AuditSeal } = await import('@brine/crypt');
  return AuditSeal.fromMasterKey(await readFile(join(pkiDir, 'master.pem'), 'utf8'));
}

/** A runner is a trace of its own; the requests it leads to link to it. */
async function beginRunSpan(config: MasterOptions, fun: string) {
  if (!mayTrace(config)) return undefined;
  const startMs = spanTime();
  const { newContext, traceparent } = await import('@brine/telemetry');
  const context = newContext();
  const attributes = { 'salt.fun': fun };
  const finish = (): Promise<void> =>
    recordCommand(config, { name: 'cli run', startMs, context, attributes });
  return { traceparent: traceparent(context), finish };
}

/** The call for the master, where somebody logs in, nobody waits, or only a master can do it. */
async function remoteCall(
  run: Parameters<typeof credentialsFor>[0],
  fun: RunnerFunction,
  args: readonly SaltValue[],
): Promise<RemoteCall | undefined> {
  const credentials = await credentialsFor(run);
  const isHere = credentials.size === 0 && !isOn(run.options, 'async') && fun.inMaster !== true;
  return isHere ? undefined : { fun: fun.name, args, credentials };
}

/** Options that are keyword arguments of functions of ours in another form. */
function ownOptions(options: ParsedOptions): SaltMap[] {
  const since = textValue(options, 'since');
  return [
    ...(isOn(options, 'missing') ? [mapOf({ missing: true, __kwarg__: true })] : []),
    ...(since === undefined ? [] : [mapOf({ since, __kwarg__: true })]),
  ];
}

async function call(
  fun: RunnerFunction,
  args: readonly SaltValue[],
  context: RunnerContext,
  printer: Printer,
  options: ParsedOptions,
): Promise<number> {
  const show = (value: SaltValue, outputter?: string): void => {
    if (!isOn(options, 'quiet')) printer.show(value, outputter);
  };
  try {
    const { value, outputter, pages } = await fun.run(
      bindArguments(fun, splitKeywords(args)),
      context,
    );
    if (pages === undefined) show(value, outputter);
    else if (!isOn(options, 'quiet')) await printer.showParts(pages, outputter);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof InvalidArgumentsError) {
      show(`\nPassed invalid arguments: ${error.message}\n\nUsage:\n\n    ${fun.doc}\n`);
      return EXIT.ok;
    }
    if (error instanceof UnknownKeywordError) {
      showDocs(fun.name, false, printer, context.out);
      return EXIT.ok;
    }
    if (error instanceof RefusedError) {
      // Only the job cache gives this name: nothing was found out, so this is no success.
      if (error.name === 'SaltReqTimeoutError') throw new Exit(EXIT.generic, `${error.message}\n`);
      show(error.message);
      return EXIT.ok;
    }
    if (error instanceof MasterUnreachableError || error instanceof RequestTimeoutError) {
      throw new Exit(EXIT.generic, `${error.message}\n`);
    }
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    show(`Exception occurred in runner ${fun.name}: ${text}`);
    return EXIT.generic;
  }
}

/** The functions whose name begins so; with `-d` as plain text. False where there is none. */
function showDocs(prefix: string, plain: boolean, printer: Printer, out: Terminal['out']): boolean {
  const found = [...FUNCTIONS.values()]
    .filter(({ name }) => isUnder(prefix, name, plain))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  if (plain) {
    for (const { name, doc } of found) out(`${name}:\n\n    ${doc}\n\n`);
    return found.length > 0;
  }
  if (found.length === 0) return false;
  printer.show(mapOf(Object.fromEntries(found.map(({ name, doc }) => [name, doc]))), 'nested');
  return true;
}

/** `-d` takes a whole part of a name (`jobs`), a name alone its beginning; nothing is all. */
function isUnder(prefix: string, name: string, plain: boolean): boolean {
  return name === prefix || name.startsWith(plain && prefix !== '' ? `${prefix}.` : prefix);
}

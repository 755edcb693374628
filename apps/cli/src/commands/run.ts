import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  JobRecords,
  MasterUnreachableError,
  parseArguments,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import type { MasterOptions } from '@brine/config';
import type { RunnerContext, RunnerFunction } from '@brine/runners';
import {
  bindArguments,
  COMMAND_FUNCTIONS,
  InvalidArgumentsError,
  invalidArgumentsText,
  splitKeywords,
  UnknownKeywordError,
} from '@brine/runners/command';
import { errorText } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { beginRunnerSpan } from '../command-span.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { findMaster } from '../find-master.ts';
import type { LocalMaster } from '../local-master.ts';
import type { ApiOption, MasterPlace } from '../master-place.ts';
import {
  type CommandForm,
  flag,
  isOn,
  numberValue,
  type ParsedOptions,
  text,
  textValue,
  withoutEffect,
} from '../options/command-form.ts';
import {
  ARGUMENT_OPTIONS,
  BASE_OPTIONS,
  eauthGroup,
  loggingGroup,
  outputGroup,
  SALT_VERSION,
  timeoutOption,
} from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { emptyOutputFile, Printer } from '../printer.ts';
import { showRunnerDocs } from '../runners/docs.ts';
import { EXCHANGE_RUNNER } from '../runners/exchange.ts';
import { refusedCode, type RemoteRun, runInMaster } from '../runners/in-master.ts';
import { credentialsFor } from '../salt/credentials.ts';
import type { Terminal } from '../terminal.ts';

const PROFILE = 'see the times with brine trace';

const RUN_FORM: CommandForm = {
  prog: 'salt-run',
  usage: '[options] <function> [arguments]',
  description: 'Runs a function on the master: looks up jobs, shows which minions are up.',
  version: SALT_VERSION,
  groups: [
    {
      title: 'Options',
      options: [
        ...BASE_OPTIONS,
        timeoutOption(1),
        flag(
          ['-d', '--doc', '--documentation'],
          'doc',
          'Show the functions and their documentation.',
        ),
        flag(
          ['--async'],
          'async',
          'Run it in the master and do not wait; an event has the result.',
        ),
        withoutEffect(flag(['--skip-grains'], 'skip_grains', ''), 'the master has no grains'),
        ...ARGUMENT_OPTIONS,
        text(['--jid'], 'jid', 'The job id of the run, instead of one that the master gives.'),
        flag(['--missing'], 'missing', 'For jobs.rerun: minions that have not returned.'),
        text(['--since'], 'since', 'For jobs.export: all jobs since this time.'),
        text(['--from'], 'from', 'For event.replay and state.event: where to begin.'),
        text(['--to'], 'to', 'For event.replay: only events from before this.'),
        text(['--tag'], 'tag', 'For event.replay: a glob of tags.'),
        {
          names: ['--count'],
          dest: 'count',
          kind: 'int',
          help: 'For event.replay and state.event: most events.',
        },
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

/** Functions that this command runs itself; the master runs all others. */
const HERE: ReadonlyMap<string, RunnerFunction> = new Map(
  [...COMMAND_FUNCTIONS, ...EXCHANGE_RUNNER].map((fun) => [fun.name, fun]),
);

/** `salt-run`: runs a function on the master and shows the result. */
export async function runRunner(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(RUN_FORM);
  const options = parser.parse(args);
  emptyOutputFile(options, parser);
  const codes = { refused: EXIT.noReturn, unreachable: EXIT.generic };
  const place = await findMaster(options, terminal, api, codes);
  const { config } = place;
  const [name, ...words] = options.args;
  if (isOn(options, 'doc') && words.length > 0) {
    throw parser.error('You can only get documentation for one method at one time');
  }
  const printer = new Printer(options, config, terminal);
  if (name === undefined || isOn(options, 'doc')) {
    const found = await showRunnerDocs(name ?? '', isOn(options, 'doc'), printer, terminal.out);
    if (!found) terminal.err(`No runner function is named '${name ?? ''}'.\n`);
    return EXIT.ok;
  }
  const noParse = (textValue(options, 'no_parse') ?? '').split(',');
  const seconds = options.given.has('timeout') ? (numberValue(options, 'timeout') ?? 0) : 0;
  const span = await beginRunnerSpan(config, name);
  const master = place.open({
    ...(seconds > 0 ? { timeoutMs: seconds * 1000 } : {}),
    ...(span === undefined ? {} : { traceparent: span.traceparent }),
  });
  try {
    const args = [...parseArguments(words, noParse), ...ownOptions(options)];
    const { client } = master;
    const credentials =
      place.api === undefined
        ? await credentialsFor({ options, config, terminal, client })
        : mapOf({});
    // With limited rights the master judges the arguments of a runner.
    const mayReadJobs = credentials.size === 0 && place.api?.readsAll !== false;
    const isHere = mayReadJobs && !isOn(options, 'async') && !isOfHost(name, place);
    const here = isHere ? HERE.get(name) : undefined;
    if (here === undefined) {
      const remote = {
        fun: name,
        args,
        credentials,
        jid: textValue(options, 'jid'),
        ...(seconds > 0 ? { timeoutSeconds: seconds } : {}),
      };
      return await runInMaster(remote, { config, master, printer, terminal, options, mayReadJobs });
    }
    const context = {
      client: master.client,
      jobs: new JobRecords(master.client),
      out: terminal.out,
      auditSeal: () => auditSealOf(config),
      listen: listenBy(master),
    };
    return await call(here, args, context, { printer, options, config });
  } finally {
    await span?.finish();
    await master.close();
  }
}

/** True for a function that needs a key of the master's host: behind an API the master runs it. */
function isOfHost(name: string, { api }: MasterPlace): boolean {
  return api !== undefined && name === 'audit.verify';
}

/** The events of this host, for a function that shows them. */
function listenBy(master: LocalMaster): Required<RunnerContext>['listen'] {
  return (onEvent) =>
    master.listen((tag, packed) =>
      onEvent(tag, () => {
        const data = unpack(packed);
        return Promise.resolve(isMap(data) ? data : mapOf({}));
      }),
    );
}

/** Needs `master.pem`: only users that can read it can check the audit record. */
async function auditSealOf(options: MasterOptions) {
  const { AuditSeal, PrivateKey } = await import('@brine/crypt');
  const { pkiDir, masterKeyName, keyPass, clusterKeyPass } = options;
  const { asOwnerOf } = await import('@brine/files');
  const read = () => readFile(join(pkiDir, `${masterKeyName}.pem`), 'utf8');
  const pem = await asOwnerOf(pkiDir, read);
  const passphrase = masterKeyName === 'cluster' ? clusterKeyPass : keyPass;
  return AuditSeal.fromMasterKey(PrivateKey.parse(pem, passphrase));
}

/** Options of Brine's own functions, as keyword arguments. */
function ownOptions(options: ParsedOptions): SaltMap[] {
  const given = ['since', 'from', 'to', 'tag', 'count'].flatMap((name) => {
    const value = textValue(options, name) ?? numberValue(options, name);
    return value === undefined ? [] : [mapOf({ [name]: value, __kwarg__: true })];
  });
  return [
    ...(isOn(options, 'missing') ? [mapOf({ missing: true, __kwarg__: true })] : []),
    ...given,
  ];
}

async function call(
  fun: RunnerFunction,
  args: readonly SaltValue[],
  context: RunnerContext,
  { printer, options, config }: Pick<RemoteRun, 'printer' | 'options' | 'config'>,
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
      show(invalidArgumentsText(error, fun.doc));
      return EXIT.ok;
    }
    if (error instanceof UnknownKeywordError) {
      await showRunnerDocs(fun.name, false, printer, context.out);
      return EXIT.ok;
    }
    if (error instanceof RefusedError) {
      // The job cache did not answer: a failure.
      if (error.name === 'SaltReqTimeoutError') throw new Exit(EXIT.generic, `${error.message}\n`);
      show(error.message);
      return refusedCode(config, error);
    }
    if (error instanceof MasterUnreachableError || error instanceof RequestTimeoutError) {
      throw new Exit(EXIT.generic, `${error.message}\n`);
    }
    const text = errorText(error);
    show(`Exception occurred in runner ${fun.name}: ${text}`);
    return EXIT.generic;
  }
}

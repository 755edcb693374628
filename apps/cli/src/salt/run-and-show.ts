import {
  type Command,
  highestRetcode,
  type JobReturn,
  type LocalClient,
  NO_MATCH,
  noResponseText,
  type PublishedCommand,
  subsetOf,
} from '@brine/client';
import type { MasterOptions } from '@brine/config';
import type { SaltMap, SaltValue } from '@brine/wire';
import { beginJobSpan } from '../command-span.ts';
import { EXIT } from '../exit-codes.ts';
import { isOn, numberValue, type ParsedOptions } from '../options/command-form.ts';
import type { Printer } from '../printer.ts';
import type { Terminal } from '../terminal.ts';
import { showDocs } from './docs.ts';
import { whenInterrupted } from './interrupt.ts';
import { ProgressLine } from './progress-line.ts';
import { type Row, summaryText } from './summary.ts';

/** Printed if no minion returned anything; the exit code is then 2. */
export const NO_RETURN = 'ERROR: No return received\n';

/** Inputs of a run of `salt`. */
export interface SaltRun {
  readonly options: ParsedOptions;
  readonly config: MasterOptions;
  readonly terminal: Terminal;
  readonly printer: Printer;
  readonly client: LocalClient;
  readonly command: Command;
}

/** Publishes the command and shows each return as it comes. Returns the exit code. */
export async function runAndShow(run: SaltRun): Promise<number> {
  const { options, terminal, printer, config, command } = run;
  const isAsync = isOn(options, 'async');
  const span = beginJobSpan(config, command, { name: 'cli request', isAsync });
  if (isAsync) {
    const jid = await publishOnly(run);
    await span.finish(jid);
    return EXIT.ok;
  }
  const interrupt = whenInterrupted(terminal);
  interrupt.beforeExit = () => span.finish(interrupt.jid);
  try {
    const job = await publish(run);
    if (job === undefined) {
      terminal.out(NO_MATCH);
      if (command.fun === 'sys.doc') return showDocs(run, new Map());
      printer.show(new Map(), '');
      terminal.err(NO_RETURN);
      return EXIT.noReturn;
    }
    interrupt.jid = job.jid;
    if (isOn(options, 'progress') || printer.options.output === 'progress') {
      return await showProgress(run, job);
    }
    if (command.fun === 'sys.doc') return await showAllDocs(run, job);
    announce(run, job.jid);
    return await showReturns(run, job);
  } finally {
    await span.finish(interrupt.jid);
    interrupt.dispose();
  }
}

/** `--async`: returns the job id; undefined if no minion matched. */
async function publishOnly({ client, command, terminal }: SaltRun): Promise<string | undefined> {
  const job = await client.publish(command);
  if (job === undefined) terminal.out(NO_MATCH);
  terminal.out(`Executed command with job ID: ${job?.jid ?? 0}\n`);
  return job?.jid;
}

async function publish(run: SaltRun): Promise<PublishedCommand | undefined> {
  const { client } = run;
  const subset = numberValue(run.options, 'subset') ?? 0;
  if (subset === 0) return client.publish(run.command, { listen: true });
  const { recordsRoot: _recordsRoot, ...command } = run.command;
  const asked = await client.publish(
    { ...command, fun: 'sys.list_functions', arg: [] },
    { listen: true },
  );
  if (asked === undefined) {
    // As in Salt, a target without minions is reported twice: its empty part is another target.
    run.terminal.out(NO_MATCH);
    return undefined;
  }
  const functions = new Map<string, SaltValue>();
  for await (const item of client.returns(asked)) {
    if (item.kind === 'return') functions.set(item.id, item.ret);
  }
  const tgt = subsetOf(functions, run.command.fun, subset);
  return client.publish({ ...run.command, tgt, tgtType: 'list' }, { listen: true });
}

/** Prints the job id if the options or the master's file ask for it. */
function announce(
  { options, terminal, config }: Pick<SaltRun, 'options' | 'terminal' | 'config'>,
  jid: string,
): void {
  const text = `Executing job with jid ${jid}`;
  if (isOn(options, 'verbose')) terminal.out(`${text}\n${'-'.repeat(text.length)}\n\n`);
  else if (isOn(options, 'show_jid') || config.showJid) terminal.out(`jid: ${jid}\n`);
}

async function showReturns(run: SaltRun, job: PublishedCommand): Promise<number> {
  const { options, terminal, printer, client, config } = run;
  const unexpected = isOn(options, 'verbose');
  const returns = client.returns(job, { ...kwargsOf(run), unexpected });
  const { rows, silent, failed } = await showEach(run, job, returns);
  const summary = isOn(options, 'cli_summary') || config.cliSummary;
  if (summary && printer.options.output === undefined) {
    terminal.out(summaryText(rows, isOn(options, 'verbose')));
  }
  if (isOn(options, 'why')) {
    const { showWhy } = await import('./show-why.ts');
    await showWhy(run, job.jid, silent);
  }
  return failedCode(terminal, failed);
}

/** The exit code of a command after its returns; prints a line if some are bad. */
export function failedCode(terminal: Terminal, failed: boolean): number {
  if (!failed) return EXIT.ok;
  terminal.err('ERROR: Minions returned with non-zero exit code\n');
  return EXIT.generic;
}

/** Shows each return as it arrives, with the progress line below; counts the failed ones. */
export async function showEach(
  { config, terminal, printer }: Pick<SaltRun, 'config' | 'terminal' | 'printer'>,
  { jid, minions }: Pick<PublishedCommand, 'jid' | 'minions'>,
  returns: AsyncIterable<JobReturn>,
): Promise<{ readonly rows: readonly Row[]; readonly silent: string[]; readonly failed: boolean }> {
  const rows: Row[] = [];
  const silent: string[] = [];
  let failed = false;
  const progress = ProgressLine.for({ config, terminal }, minions);
  try {
    for await (const item of returns) {
      const row = rowOf(item, jid);
      if (item.kind === 'missing') silent.push(item.id);
      else progress.took(item.id);
      if (!printer.show(new Map([[row.id, row.ret]]), row.out, row.retcode)) continue;
      if (row.retcode !== 0) failed = true;
      rows.push(row);
    }
  } finally {
    progress.end();
  }
  return { rows, silent, failed };
}

function rowOf(item: JobReturn, jid: string): Row {
  if (item.kind === 'missing') {
    return { id: item.id, ret: noResponseText(jid), out: 'no_return', retcode: EXIT.generic };
  }
  const { id, ret, out = '' } = item;
  return { id, ret, out, retcode: highestRetcode(item.retcode) };
}

function kwargsOf({ command }: SaltRun): { kwargs?: SaltMap } {
  const { kwargs } = command;
  if (kwargs === undefined) return {};
  // Options for find_job, which targets a list: only credentials.
  const wanted = new Set<SaltValue>(['eauth', 'username', 'password', 'token']);
  const credentials = new Map([...kwargs].filter(([name]) => wanted.has(name)));
  return credentials.size > 0 ? { kwargs: credentials } : {};
}

/** `-p`: only the progress line, and nothing without a terminal. Exits with 0, as Salt. */
async function showProgress(run: SaltRun, job: PublishedCommand): Promise<number> {
  const progress = new ProgressLine(run.terminal.status, job.minions, 0);
  try {
    for await (const item of run.client.returns(job, kwargsOf(run))) {
      if (item.kind === 'return') progress.took(item.id);
    }
  } finally {
    progress.end();
  }
  return EXIT.ok;
}

/** `sys.doc`: one display of all returns. */
async function showAllDocs(run: SaltRun, job: PublishedCommand): Promise<number> {
  // As in Salt, which does not pass -v to its client here.
  if (isOn(run.options, 'show_jid') || run.config.showJid) run.terminal.out(`jid: ${job.jid}\n`);
  const returns: SaltMap = new Map();
  for await (const item of run.client.returns(job, kwargsOf(run))) {
    const { id, ret } = rowOf(item, job.jid);
    returns.set(id, ret);
  }
  return showDocs(run, returns);
}

import {
  highestRetcode,
  type JobReturn,
  noResponseText,
  type PublishedCommand,
} from '@brine/client';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { EXIT } from '../exit-codes.ts';
import { isOn, numberValue } from '../options/option.ts';
import { whenInterrupted } from './interrupt.ts';
import { beginJobRoot, type JobRoot } from './job-root.ts';
import type { SaltRun } from './salt-run.ts';
import { type Row, summaryText } from './summary.ts';

const NO_MATCH = 'No minions matched the target. No command was sent, no jid was assigned.\n';

/** Publishes the command and shows each return as it comes. Gives the exit code. */
export async function runAndShow(asked: SaltRun): Promise<number> {
  const root = beginJobRoot(asked, 'cli request');
  const { run } = root;
  const { options, terminal, printer } = run;
  if (isOn(options, 'async')) return publishOnly(root);
  const interrupt = whenInterrupted(terminal);
  interrupt.beforeExit = () => root.finish(interrupt.jid);
  try {
    const job = await publish(run);
    if (job === undefined) {
      terminal.out(NO_MATCH);
      printer.show(new Map(), '');
      terminal.err('ERROR: No return received\n');
      return EXIT.noReturn;
    }
    interrupt.jid = job.jid;
    if (isOn(options, 'progress')) return await waitSilently(run, job);
    if (run.command.fun === 'sys.doc') return await showDocs(run, job);
    announce(run, job.jid);
    return await showReturns(run, job);
  } finally {
    await root.finish(interrupt.jid);
    interrupt.dispose();
  }
}

/** `--async`. */
async function publishOnly({ run, finish }: JobRoot): Promise<number> {
  const job = await run.link.client.publish(run.command);
  if (job === undefined) run.terminal.out(NO_MATCH);
  run.terminal.out(`Executed command with job ID: ${job?.jid ?? 0}\n`);
  await finish(job?.jid);
  return EXIT.ok;
}

async function publish(run: SaltRun): Promise<PublishedCommand | undefined> {
  const { client } = run.link;
  const subset = numberValue(run.options, 'subset') ?? 0;
  if (subset <= 0) return client.publish(run.command, { listen: true });
  const { recordsRoot: _recordsRoot, ...command } = run.command;
  const asked = await client.publish(
    { ...command, fun: 'sys.list_functions', arg: [] },
    { listen: true },
  );
  if (asked === undefined) return undefined;
  const able: string[] = [];
  for await (const item of client.returns(asked)) {
    if (item.kind !== 'return' || !Array.isArray(item.ret)) continue;
    const { fun } = run.command;
    if (typeof fun === 'string' && item.ret.includes(fun)) able.push(item.id);
  }
  const tgt = able
    .map((id) => ({ id, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, subset)
    .map(({ id }) => id);
  return client.publish({ ...run.command, tgt, tgtType: 'list' }, { listen: true });
}

function announce({ options, terminal }: SaltRun, jid: string): void {
  const text = `Executing job with jid ${jid}`;
  if (isOn(options, 'verbose')) terminal.out(`${text}\n${'-'.repeat(text.length)}\n\n`);
  else if (isOn(options, 'show_jid')) terminal.out(`jid: ${jid}\n`);
}

async function showReturns(run: SaltRun, job: PublishedCommand): Promise<number> {
  const { options, terminal, printer, link } = run;
  const rows: Row[] = [];
  const silent: string[] = [];
  let failed = false;
  const unexpected = isOn(options, 'verbose');
  for await (const item of link.client.returns(job, { ...kwargsOf(run), unexpected })) {
    const row = rowOf(item, job.jid);
    if (item.kind === 'missing') silent.push(item.id);
    if (!printer.show(new Map([[row.id, row.ret]]), row.out, row.retcode)) continue;
    if (row.retcode !== 0) failed = true;
    rows.push(row);
  }
  if (isOn(options, 'cli_summary') && printer.options.output === undefined) {
    terminal.out(summaryText(rows, isOn(options, 'verbose')));
  }
  if (isOn(options, 'why')) {
    const { showWhy } = await import('./show-why.ts');
    await showWhy(run, job.jid, silent);
  }
  if (!failed) return EXIT.ok;
  terminal.err('ERROR: Minions returned with non-zero exit code\n');
  return EXIT.generic;
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
  // The question who still runs the job is put by list: only the credentials are needed.
  const wanted = new Set<SaltValue>(['eauth', 'username', 'password', 'token']);
  const credentials = new Map([...kwargs].filter(([name]) => wanted.has(name)));
  return credentials.size > 0 ? { kwargs: credentials } : {};
}

/** `-p` without the package for the bar: Salt runs the job and shows nothing. */
async function waitSilently(run: SaltRun, job: PublishedCommand): Promise<number> {
  for await (const item of run.link.client.returns(job, kwargsOf(run))) void item;
  return EXIT.ok;
}

/** `sys.doc`: the texts of all minions, each function once. */
async function showDocs(run: SaltRun, job: PublishedCommand): Promise<number> {
  const docs = new Map<string, string>();
  let any = false;
  for await (const item of run.link.client.returns(job, kwargsOf(run))) {
    any = true;
    if (item.kind !== 'return' || !isMap(item.ret)) continue;
    for (const [fun, text] of item.ret) {
      if (typeof fun === 'string' && typeof text === 'string' && text !== '') docs.set(fun, text);
    }
  }
  for (const [fun, text] of [...docs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (run.printer.options.output === undefined) run.terminal.out(`${fun}:\n${text}\n\n`);
    else run.printer.show(new Map([[fun, text]]), 'nested');
  }
  if (any) return EXIT.ok;
  run.terminal.err('ERROR: No return received\n');
  return EXIT.noReturn;
}

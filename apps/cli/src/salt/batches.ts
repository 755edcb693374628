import { type BatchSettings, batchSize, type BatchStep, NO_MATCH, runBatch } from '@brine/client';
import { JidMaker } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { beginJobSpan } from '../command-span.ts';
import { EXIT } from '../exit-codes.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from '../options/command-form.ts';
import { logLine } from '../terminal.ts';
import { showDocs } from './docs.ts';
import { whenInterrupted } from './interrupt.ts';
import { failedCode, NO_RETURN, runAndShow, type SaltRun } from './run-and-show.ts';

/**
 * `-b`, `--static` and, with more than `safeLimit` targeted minions, `--batch-safe-limit` (Salt:
 * salt/cli/salt.py _run_batch). Shows a batch that the workers of the master run. Returns the exit
 * code.
 */
export async function runInBatches(run: SaltRun, safeLimit?: number): Promise<number> {
  const { options, terminal, config } = run;
  const isAsync = isOn(options, 'async');
  const span = beginJobSpan(config, run.command, { name: 'cli batch', isAsync });
  let size = textValue(options, 'batch');
  if (safeLimit !== undefined) {
    const { targetedMinions } = await import('./preview.ts');
    const minions = await targetedMinions(run.command, run.client);
    if (minions.length < safeLimit) return runAndShow(run);
    terminal.out('\nNOTICE: Too many minions targeted, switching to batch execution.\n');
    size = textValue(options, 'batch_safe_size') ?? String(config.batchSafeSize);
  }
  // With microseconds, because commands of one script may begin within the same millisecond.
  const jid = new JidMaker().next(performance.timeOrigin + performance.now());
  const settings = settingsOf(options, size ?? '100%', jid);
  const command = withoutDisplay(run);
  const interrupt = whenInterrupted(terminal);
  let begun: string | undefined;
  const finish = (): Promise<void> => span.finish(begun);
  interrupt.beforeExit = finish;
  const steps = noticing(runBatch(run.client, command, settings), () => {
    begun = jid;
    interrupt.text = goesOn(jid);
  });
  try {
    if (isAsync && size !== undefined) return await showBegun(run, steps, jid);
    return isOn(options, 'static') ? await showTogether(run, steps) : await showSteps(run, steps);
  } finally {
    await finish();
    interrupt.dispose();
  }
}

/** @throws BatchSizeError before anything is sent */
function settingsOf(options: ParsedOptions, size: string, jid: string): BatchSettings {
  const canary = textValue(options, 'batch_canary');
  const halt = textValue(options, 'batch_halt');
  for (const spec of [size, canary, halt]) if (spec !== undefined) batchSize(spec, 1);
  return {
    size,
    jid,
    failhard: isOn(options, 'failhard'),
    waitMs: (numberValue(options, 'batch_wait') ?? 0) * 1000,
    ...(canary === undefined ? {} : { canary }),
    ...(halt === undefined ? {} : { halt }),
  };
}

/** The text on Ctrl-C: the master continues the batch. */
function goesOn(jid: string): string {
  return (
    `The batch continues in the master. Its jid is: ${jid}\n` +
    `To see its state, or to stop it:\n\n` +
    `salt-run batch.status ${jid}\nsalt-run batch.stop ${jid}\n`
  );
}

/** Calls `onBegin` when the master has the batch. */
async function* noticing(
  steps: AsyncIterable<BatchStep>,
  onBegin: () => void,
): AsyncGenerator<BatchStep> {
  for await (const step of steps) {
    if (step.kind === 'begun') onBegin();
    yield step;
  }
}

function withoutDisplay({ command }: SaltRun): SaltRun['command'] {
  const hidden = new Set<SaltValue>(['show_timeout', 'show_jid']);
  const kwargs: SaltMap = new Map([...(command.kwargs ?? [])].filter(([key]) => !hidden.has(key)));
  return { ...command, kwargs };
}

/**
 * `--async`: prints the minions that do not answer the ping, and the job id (Salt: salt/cli/salt.py
 * _run_batch_async). The master does the rest.
 */
async function showBegun(
  run: SaltRun,
  steps: AsyncIterable<BatchStep>,
  jid: string,
): Promise<number> {
  const { terminal } = run;
  const down: string[] = [];
  for await (const step of steps) {
    if (step.kind === 'begun') continue;
    if (step.kind === 'down') down.push(step.id);
    else if (step.kind === 'no-match') terminal.out(NO_MATCH);
    else {
      // Any other step comes after the ping.
      for (const id of down.sort()) terminal.out(downText(id));
      if (step.kind === 'halted') {
        showStep(run, step);
        return EXIT.noReturn;
      }
      terminal.out(`Executed batch command with job ID: ${jid}\n`);
      return EXIT.ok;
    }
  }
  terminal.out('No minions matched the target.\n');
  return EXIT.ok;
}

function downText(id: string): string {
  return `Minion ${id} did not respond. No job will be sent.\n`;
}

/**
 * `--static`: one display at the end. As in Salt, it does not mention silent minions; unlike in
 * Salt, the exit code does (`brine.exit_codes`).
 */
async function showTogether(run: SaltRun, steps: AsyncIterable<BatchStep>): Promise<number> {
  const all: SaltMap = new Map();
  const isBatch = textValue(run.options, 'batch') !== undefined;
  let isBad = false;
  for await (const step of steps) {
    if (step.kind === 'no-match') run.terminal.out(NO_MATCH);
    if (step.kind === 'return') all.set(step.id, step.ret);
    if ('retcode' in step && step.retcode !== 0) isBad = true;
    // A batch skips minions that do not answer its ping.
    if (step.kind === 'silent' || (step.kind === 'down' && !isBatch)) isBad = true;
  }
  const isDocs = run.command.fun === 'sys.doc';
  if (isDocs && all.size === 0) return showDocs(run, all);
  if (isDocs) showDocs(run, all);
  else run.printer.show(all, '');
  const isStrict = run.config.brine.exitCodes === 'strict';
  if (all.size > 0) return failedCode(run.terminal, isBad && isStrict);
  run.terminal.err(NO_RETURN);
  return EXIT.noReturn;
}

async function showSteps(run: SaltRun, steps: AsyncIterable<BatchStep>): Promise<number> {
  let highest = 0;
  let isEmpty = true;
  // As in Salt, a batch in which no minion runs does not name those that are down.
  const down: BatchStep[] = [];
  for await (const step of steps) {
    if (step.kind === 'down') {
      down.push(step);
      continue;
    }
    if (step.kind === 'start' || step.kind === 'halted') {
      isEmpty = false;
      for (const one of down.splice(0)) showStep(run, one);
    }
    if (step.kind === 'return' || step.kind === 'unseen') {
      highest = Math.max(highest, step.retcode);
    }
    showStep(run, step);
  }
  if (!isEmpty) return highest;
  run.terminal.err(NO_RETURN);
  return EXIT.noReturn;
}

function showStep({ terminal, printer }: SaltRun, step: BatchStep): void {
  switch (step.kind) {
    case 'no-match':
      terminal.out(`${NO_MATCH}No minions matched the target.\n`);
      return;
    case 'down':
      terminal.out(downText(step.id));
      return;
    case 'start':
      terminal.out(`\nExecuting run on ${pyRepr([...step.ids].sort())}\n\n`);
      return;
    case 'return': {
      const data: SaltMap = new Map();
      if (step.rawRetcode !== undefined) data.set('retcode', step.rawRetcode);
      if (step.jid !== undefined) data.set('jid', step.jid);
      data.set(step.id, step.ret);
      printer.show(data, step.out);
      return;
    }
    case 'halted':
      logLine(terminal, 'ERROR', haltText(step.reason));
      return;
    case 'unseen':
      logLine(terminal, 'WARNING', `${step.count} returns were not seen here; see the job cache`);
      return;
    case 'begun':
    case 'silent':
      return;
  }
}

/** The text for a batch that ended early. The first is Salt's. */
function haltText(reason: string): string {
  if (reason === 'failhard') return 'Batch run stopped due to failhard';
  if (reason === 'canary') return 'Batch run stopped: one of its first minions failed';
  if (reason === 'failures') return 'Batch run stopped: too many minions failed';
  return `Batch run stopped: ${reason}`;
}

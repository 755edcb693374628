import { batchSize, type BatchStep, runBatch } from '@brine/client';
import { JidMaker } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { beginJobSpan } from '../command-span.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { isOn, numberValue, textValue } from '../options/command-form.ts';
import { logLine } from '../terminal.ts';
import { whenInterrupted } from './interrupt.ts';
import { runAndShow, type SaltRun } from './run-and-show.ts';

const NO_MATCH = 'No minions matched the target. No command was sent, no jid was assigned.\n';

/**
 * `-b`, `--static` and, where more than `safeLimit` minions are targeted, `--batch-safe-limit`
 * (Salt: salt/cli/salt.py _run_batch). Gives the exit code.
 */
export async function runInBatches(run: SaltRun, safeLimit?: number): Promise<number> {
  const { options, terminal, config } = run;
  const isAsync = isOn(options, 'async');
  const span = beginJobSpan(config, run.command, { name: 'cli batch', isAsync });
  let size = textValue(options, 'batch');
  if (safeLimit !== undefined) {
    const { targetedMinions } = await import('./preview.ts');
    const minions = await targetedMinions(run.command, config);
    if (minions.length < safeLimit) return runAndShow(run);
    terminal.out('\nNOTICE: Too many minions targeted, switching to batch execution.\n');
    size = textValue(options, 'batch_safe_size') ?? String(config.batchSafeSize);
  }
  if (isAsync && size !== undefined) {
    throw new Exit(EXIT.usage, 'salt: error: --async with --batch is not in this version\n');
  }
  // Checks the size before anything is sent.
  if (size !== undefined) batchSize(size, 1);
  const interrupt = whenInterrupted(terminal);
  const jid = new JidMaker().next(Date.now());
  let published = false;
  const finish = (): Promise<void> => span.finish(published ? jid : undefined);
  interrupt.beforeExit = finish;
  const all = runBatch(run.client, withoutDisplay(run), {
    size: size ?? '100%',
    waitMs: (numberValue(options, 'batch_wait') ?? 0) * 1000,
    failhard: isOn(options, 'failhard'),
    jid,
  });
  const steps = noticing(all, () => {
    published = true;
  });
  try {
    return isOn(options, 'static') ? await showTogether(run, steps) : await showSteps(run, steps);
  } finally {
    await finish();
    interrupt.dispose();
  }
}

/** Calls `onStart` when a part of the batch goes out. */
async function* noticing(
  steps: AsyncIterable<BatchStep>,
  onStart: () => void,
): AsyncGenerator<BatchStep> {
  for await (const step of steps) {
    if (step.kind === 'start') onStart();
    yield step;
  }
}

function withoutDisplay({ command }: SaltRun): SaltRun['command'] {
  const hidden = new Set<SaltValue>(['show_timeout', 'show_jid']);
  const kwargs: SaltMap = new Map([...(command.kwargs ?? [])].filter(([key]) => !hidden.has(key)));
  return { ...command, kwargs };
}

/** `--static`: one display at the end. As in Salt, it does not mention silent minions. */
async function showTogether(run: SaltRun, steps: AsyncIterable<BatchStep>): Promise<number> {
  const all: SaltMap = new Map();
  for await (const step of steps) {
    if (step.kind === 'no-match') run.terminal.out(NO_MATCH);
    if (step.kind === 'return') all.set(step.id, step.ret);
  }
  run.printer.show(all, '');
  if (all.size > 0) return EXIT.ok;
  run.terminal.err('ERROR: No return received\n');
  return EXIT.noReturn;
}

async function showSteps(run: SaltRun, steps: AsyncIterable<BatchStep>): Promise<number> {
  let highest = 0;
  for await (const step of steps) {
    if (step.kind === 'return') highest = Math.max(highest, step.retcode);
    showStep(run, step);
  }
  return highest;
}

function showStep({ terminal, printer }: SaltRun, step: BatchStep): void {
  switch (step.kind) {
    case 'no-match':
      terminal.out(`${NO_MATCH}No minions matched the target.\n`);
      return;
    case 'down':
      terminal.out(`Minion ${step.id} did not respond. No job will be sent.\n`);
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
      logLine(terminal, 'ERROR', 'Batch run stopped due to failhard');
      return;
    case 'silent':
      return;
  }
}

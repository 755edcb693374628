import type { BenchArguments } from './arguments.ts';
import type { Figure } from './report/figure.ts';
import { describeCheckout, describeMachine, type Report } from './report/report.ts';
import type { Row, RowContext } from './rows/row.ts';

/** The rows that were asked for: those named, or all of the table. */
export function chooseRows(rows: readonly Row[], only: readonly string[]): readonly Row[] {
  return rows.filter(({ name, inTable }) => (only.length > 0 ? only.includes(name) : inTable));
}

/**
 * Runs rows one after the other. One that fails is reported with its reason and the next begins;
 * none begins after `minutes`. `keep` gets what there is after each row, as a run may be cut short.
 */
export async function runRows(
  rows: readonly Row[],
  args: BenchArguments,
  context: RowContext,
  command: string,
  keep: (report: Report) => Promise<void>,
): Promise<Report> {
  const begun = Date.now();
  const figures: Figure[] = [];
  const failures: { row: string; reason: string }[] = [];
  const checkout = describeCheckout(context.installed.checkout);
  const soFar = (): Report => ({
    ...checkout,
    command,
    startedAt: new Date(begun).toISOString(),
    seconds: (Date.now() - begun) / 1_000,
    machine: describeMachine(),
    figures,
    failures,
  });
  for (const row of rows) {
    if (Date.now() - begun > args.minutes * 60_000) {
      failures.push({ row: row.name, reason: `${args.minutes} minutes were over` });
      continue;
    }
    context.say(`${row.name}: ${row.about}`);
    try {
      figures.push(...(await row.run(context)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures.push({ row: row.name, reason: reason.split('\n')[0] ?? '' });
      context.say(`${row.name} failed: ${error instanceof Error ? error.stack : reason}`);
    }
    await keep(soFar());
  }
  return soFar();
}

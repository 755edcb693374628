// What a failed test or hook leaves says more than its assertion. This prints what is known of all
// masters and sandboxes that are alive in the file, before they are closed. It also counts for each
// file the masters and minions it started, and how long it waited for them.
import { appendFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { scenes, startTally } from '@brine/testing';
import { afterAll, afterEach, beforeAll, type TestContext } from 'vitest';

type Suite = TestContext['task']['file'] | TestContext['task']['suite'];

/** Set by `npm test -- --keep`. */
const KEEP = process.env['BRINE_KEEP_FAILED'] === '1';
/** How long a report may take; set where the report itself is under test. */
const REPORT_MS = process.env['BRINE_REPORT_MS'];

/** Where reports go in a run of `npm test`; without it they are printed. */
const REPORTS = process.env['BRINE_TEST_REPORTS'];

beforeAll(({}, file) => {
  scenes.watch({
    hasFailed: () => hasFailed(file),
    print: (text) => report(file.name, text),
    keep: KEEP,
    ...(REPORT_MS === undefined ? {} : { reportMs: Number(REPORT_MS) }),
  });
});
afterEach(({ task }) => scenes.testEnded(task.result?.state === 'fail'));
// Hooks that are set later run earlier: those of the file have closed its masters by now.
afterAll(async ({}, { name }) => {
  const tally = startTally.take();
  if (tally !== undefined) process.stderr.write(`${name}: ${tally}\n`);
  await scenes.fileEnded();
});

function report(file: string, text: string): void {
  const path = REPORTS && join(REPORTS, `${basename(file, '.test.ts')}.report.txt`);
  if (path) appendFileSync(path, text);
  // Of a run in CI its output is all that stays.
  const isAll = !path || process.env['CI'] === 'true';
  process.stderr.write(isAll ? text : `report on masters: ${path}\n`);
}

function hasFailed(suite: NonNullable<Suite>): boolean {
  if (suite.result?.state === 'fail') return true;
  return suite.tasks.some((task) =>
    task.type === 'suite' ? hasFailed(task) : task.result?.state === 'fail',
  );
}

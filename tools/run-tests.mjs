// Runs the suites one after the other and sums up: `npm test`, or `npm test -- unit interop`.
// The last line is `N passed, N failed`, with `, N skipped` where there are any. With CI=true a
// skipped test is a failure: nobody is there to notice it otherwise.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SUITES = ['unit', 'integration', 'interop'];
/** How much of a failed test's message stands in the sum at the end. */
const MESSAGE_LINES = 12;
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');

async function main() {
  const chosen = process.argv.slice(2);
  const unknown = chosen.filter((name) => !SUITES.includes(name));
  if (unknown.length > 0) throw new Error(`no such suite: ${unknown.join(', ')}`);
  const total = { passed: 0, failed: 0, skipped: 0 };
  const failures = [];
  for (const suite of SUITES) {
    if (chosen.length > 0 && !chosen.includes(suite)) continue;
    console.log(`\n== ${suite}`);
    const { counts, failed } = await runSuite(suite);
    failures.push(...failed);
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  // Once more, all together: the first suite's failures stand a thousand lines above.
  for (const failure of failures) console.log(`\nFAILED ${failure}`);
  const strict = process.env.CI === 'true' && total.skipped > 0;
  if (strict) console.log(`\n${total.skipped} skipped: with CI=true that is a failure`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  process.exitCode = total.failed > 0 || strict ? 1 : 0;
}

async function runSuite(suite) {
  const dir = mkdtempSync(join(tmpdir(), 'brine-tests-'));
  const report = join(dir, 'report.json');
  try {
    const code = await runVitest(suite, report);
    const { counts, failed } = readReport(report);
    // A suite can fail beside its tests: a file that does not load, an error nobody caught.
    if (code !== 0 && counts.failed === 0) {
      failed.push(`${suite}: outside of its tests (exit ${code})`);
      counts.failed = 1;
    }
    return { counts, failed };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function runVitest(suite, report) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const args = [VITEST, 'run', '--project', suite, '--passWithNoTests', ...reporters];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    // Ctrl-C reaches vitest by itself; a plain kill of this process does not.
    const end = () => child.kill('SIGTERM');
    process.once('SIGTERM', end);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.removeListener('SIGTERM', end);
      resolve(signal ?? code);
    });
  });
}

function readReport(path) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // No report: vitest ended before it wrote one, which its exit code tells.
    return { counts: { passed: 0, failed: 0, skipped: 0 }, failed: [] };
  }
  const failed = report.testResults.flatMap(failuresOf);
  const counts = {
    passed: report.numPassedTests,
    failed: failed.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
  return { counts, failed };
}

/** What failed in a file: its tests, or the file itself where none of them did. */
function failuresOf(file) {
  if (file.status !== 'failed') return [];
  const name = relative(ROOT, file.name);
  const tests = file.assertionResults.filter(({ status }) => status === 'failed');
  if (tests.length === 0) return [`${name}\n${firstLines(file.message)}`];
  return tests.map(
    (test) => `${name} > ${test.fullName}\n${firstLines(test.failureMessages.join('\n'))}`,
  );
}

function firstLines(message) {
  return message.split('\n').slice(0, MESSAGE_LINES).join('\n');
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

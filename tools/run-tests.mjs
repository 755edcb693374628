// Runs the suites one after the other and sums up: `npm test`, or `npm test -- unit interop`.
// The last line is `N passed, N failed`, with `, N skipped` where there are any. With CI=true a
// skipped test is a failure: nobody is there to notice it otherwise.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SUITES = ['unit', 'integration', 'interop'];
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');

async function main() {
  const chosen = process.argv.slice(2);
  const unknown = chosen.filter((name) => !SUITES.includes(name));
  if (unknown.length > 0) throw new Error(`no such suite: ${unknown.join(', ')}`);
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of SUITES) {
    if (chosen.length > 0 && !chosen.includes(suite)) continue;
    console.log(`\n== ${suite}`);
    const counts = await runSuite(suite);
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
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
    const counts = readReport(report);
    // A suite can fail beside its tests: a file that does not load, an error nobody caught.
    if (code !== 0 && counts.failed === 0) {
      console.log(`${suite}: failed outside of its tests (exit ${code})`);
      counts.failed = 1;
    }
    return counts;
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
    return { passed: 0, failed: 0, skipped: 0 };
  }
  const broken = report.testResults.filter(
    (file) =>
      file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

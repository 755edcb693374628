// Runs layers of tests one after the other and sums up: `npm test` those that a change needs to be
// trusted, `npm run test:deep` the others, `npm test -- pure deep` those named. With `--only NAME`,
// also several times, only files whose path has NAME in it, of any layer; with `--keep` beside it
// the directories of masters and sandboxes stay where a test failed. The last line is
// `N passed, N failed`, with `, N skipped` where there are any. With CI=true a skipped test is a
// failure: no person watches to notice it. There a run also ends itself before CI would, and says
// which tests had not ended.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** The layers of vitest.config.ts, each with the time that it may take on two cores, in s. */
const LAYERS = { pure: 90, served: 240, masters: 720, deep: 2_700, hosts: 600 };
const USUAL = ['pure', 'served', 'masters'];
const SLOWEST_SHOWN = 10;
/** How much of a failed test's message stands in the sum at the end. */
const MESSAGE_LINES = 12;
const LINE_CHARS = 2_000;
/** CI ends a run after 90 min and keeps nothing of it; this leaves time for the start. In ms. */
const CI_DEADLINE_MS = 84 * 60_000;
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const UNENDED = join(ROOT, 'test', 'layers', 'unended-tests.mjs');

async function main() {
  const { layers, only, keep } = chosen(process.argv.slice(2));
  // Read by test/layers/scenes-of-failures.ts.
  if (keep) process.env.BRINE_KEEP_FAILED = '1';
  const total = { passed: 0, failed: 0, skipped: 0 };
  const end = endOfRun();
  const failures = [];
  const times = [];
  const files = [];
  for (const layer of layers) {
    if (end.aborted) {
      failures.push(`${layer}: not run, ${end.reason}`);
      total.failed += 1;
      continue;
    }
    console.log(`\n== ${layer}`);
    const startedAt = performance.now();
    const { counts, failed, took } = await runLayer(layer, only, end);
    const seconds = (performance.now() - startedAt) / 1000;
    failures.push(...failed);
    files.push(...took);
    const ran = counts.passed + counts.failed;
    if (ran > 0)
      times.push(`${layer}: ${ran} tests, ${seconds.toFixed(0)} s of ${LAYERS[layer]} s`);
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  if (times.length === 0 && !end.aborted)
    throw new Error(`no test's path has ${only.join(' or ')} in it`);
  // Once more, all together: the first layer's failures stand a thousand lines above.
  for (const failure of failures) console.log(`\nFAILED ${failure}`);
  console.log('\nThe slowest files:');
  files.sort((one, other) => other.seconds - one.seconds);
  for (const { name, seconds } of files.slice(0, SLOWEST_SHOWN)) {
    console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
  }
  console.log(`\n${times.join('\n')}`);
  const strict = process.env.CI === 'true' && total.skipped > 0;
  if (strict) console.log(`\n${total.skipped} skipped: with CI=true that is a failure`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  process.exitCode = total.failed > 0 || strict ? 1 : 0;
}

function chosen(args) {
  const options = {
    only: { type: 'string', multiple: true, default: [] },
    keep: { type: 'boolean', default: false },
  };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const { only, keep } = values;
  // A whole layer that fails would fill the disk.
  if (keep && only.length === 0) throw new Error('--keep wants --only NAME');
  const unknown = positionals.filter((name) => !Object.hasOwn(LAYERS, name));
  if (unknown.length > 0) throw new Error(`no such layer: ${unknown.join(', ')}`);
  if (positionals.length > 0) return { layers: positionals, only, keep };
  return { layers: only.length === 0 ? USUAL : Object.keys(LAYERS), only, keep };
}

/** Aborted where this run has to end before its last layer, with the reason in words. */
function endOfRun() {
  const end = new AbortController();
  // Ctrl-C reaches vitest by itself; a plain kill of this process does not. Any number of them, as
  // one who ends a whole tree sends it to each and npm passes its own on.
  process.on('SIGTERM', () => end.abort('the run was ended by SIGTERM'));
  if (process.env.CI === 'true') {
    const minutes = CI_DEADLINE_MS / 60_000;
    const late = () => end.abort(`the run was ended after ${minutes} min`);
    setTimeout(late, CI_DEADLINE_MS).unref();
  }
  return end.signal;
}

async function runLayer(layer, only, end) {
  const dir = mkdtempSync(join(tmpdir(), 'brine-tests-'));
  const report = join(dir, 'report.json');
  try {
    const code = await runVitest(layer, report, only, end);
    const { counts, failed, took } = readReport(report);
    // A layer can fail beside its tests: a file that does not load, an uncaught error.
    if (code !== 0 && counts.failed === 0) {
      failed.push(`${layer}: outside of its tests (exit ${code})`);
      counts.failed = 1;
    }
    return { counts, failed, took };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function runVitest(layer, report, only, end) {
  const reporters = ['--reporter=default', '--reporter=json', `--reporter=${UNENDED}`];
  const output = `--outputFile.json=${report}`;
  const args = [VITEST, 'run', '--project', layer, '--passWithNoTests', ...reporters, output];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args, ...only], {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const stop = () => child.kill('SIGTERM');
    end.addEventListener('abort', stop);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      end.removeEventListener('abort', stop);
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
    return { counts: { passed: 0, failed: 0, skipped: 0 }, failed: [], took: [] };
  }
  const failed = report.testResults.flatMap(failuresOf);
  const counts = {
    passed: report.numPassedTests,
    failed: failed.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
  const took = report.testResults.map(({ name, startTime, endTime }) => {
    return { name: relative(ROOT, name), seconds: (endTime - startTime) / 1000 };
  });
  return { counts, failed, took };
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
  const lines = message.split('\n').slice(0, MESSAGE_LINES);
  return lines.map((line) => line.slice(0, LINE_CHARS)).join('\n');
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

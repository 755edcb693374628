// Runs a test file many times beside a busy loop: `npm run test:flaky -- 10 why`. It prints the
// output of each failed run and ends with how often the file passed.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const USAGE = 'npm run test:flaky -- N NAME: how often, and a part of the path of a test file';

const [times, name, ...more] = process.argv.slice(2);
const count = Number(times);
if (!Number.isInteger(count) || count < 1 || name === undefined || more.length > 0) {
  console.error(USAGE);
  process.exit(2);
}

const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
process.once('exit', () => busy.kill('SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
let passed = 0;
for (let round = 1; round <= count; round += 1) {
  const startedAt = performance.now();
  const { code, output } = await run();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (code === 0) passed += 1;
  else console.log(output);
  console.log(`${round}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
}
console.log(`\n${passed} of ${count} passed`);
process.exit(passed === count ? 0 : 1);

function run() {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [VITEST, 'run', name], { cwd: ROOT });
    let output = '';
    const take = (data) => (output += data);
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

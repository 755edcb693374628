import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');

/** Runs files of test/layers/failing whose path has `name` in it, in a vitest of their own. */
export function runFailing(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: unknown; readonly output: string }> {
  const config = join('test', 'layers', 'failing', 'vitest.config.ts');
  const args = [VITEST, 'run', '--config', config, name];
  const { BRINE_KEEP_FAILED: _, BRINE_TEST_REPORTS: __, ...inherited } = process.env;
  // A report may take long on a busy machine, and is under test here.
  const all = { ...inherited, BRINE_REPORT_MS: '600000', ...env };
  const options = { cwd: ROOT, env: all, maxBuffer: 16 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const output = stripVTControlCharacters(`${stdout}\n${stderr}`);
      resolve({ code: error?.code ?? 0, output });
    });
  });
}

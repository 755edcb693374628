import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { newestOf, saltVenv, type SaltVersion } from '@brine/testing';

const ORACLE = join(import.meta.dirname, 'target-oracle.py');
/** The master's side of 3007, which keeps minions without data. */
export const ORACLE_3007 = join(import.meta.dirname, 'target-oracle-3007.py');

/** Puts questions to Salt's own matchers, or another script; one answer for each. */
export async function askSalt(
  questions: readonly unknown[],
  oracle: string = ORACLE,
  version: SaltVersion = newestOf('3008'),
  args: readonly string[] = [],
): Promise<unknown[]> {
  const venv = await saltVenv(version);
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONWARNINGS: 'ignore',
    PYTHONIOENCODING: 'utf-8',
    TZ: process.env['TZ'] ?? '',
  };
  const child = spawn(venv.python, [oracle, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(questions.map((question) => JSON.stringify(question)).join('\n'));
  const output = await text(child.stdout);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

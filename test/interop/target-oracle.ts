import { saltVenv } from '@brine/testing';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';

const ORACLE = join(import.meta.dirname, 'target-oracle.py');

/** Puts questions to Salt 3008.2's own matchers, or another script; one answer for each. */
export async function askSalt(
  questions: readonly unknown[],
  oracle: string = ORACLE,
): Promise<unknown[]> {
  const venv = await saltVenv('3008.2');
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONWARNINGS: 'ignore',
    PYTHONIOENCODING: 'utf-8',
    TZ: process.env['TZ'] ?? '',
  };
  const child = spawn(venv.python, [oracle], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(questions.map((question) => JSON.stringify(question)).join('\n'));
  const output = await text(child.stdout);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

// 3.11 first: all Salt releases were tried with it. 3.13 lacks modules they import.
const CANDIDATES = [
  '/usr/bin/python3.11',
  'python3.11',
  'python3.10',
  '/usr/bin/python3.10',
  'python3.12',
  '/usr/bin/python3.12',
  'python3',
];
const PROBE = 'import sys, venv, ensurepip; print(sys.executable); print(sys.version_info[1])';
const PROBE_TIMEOUT_MS = 10_000;

/**
 * A Python 3.10 to 3.12 that can make virtual environments, as an absolute path. Undefined if there
 * is no such Python: real-Salt tests can not run then.
 */
export async function findPython(): Promise<string | undefined> {
  const wanted = process.env['BRINE_PYTHON'];
  for (const name of wanted === undefined ? CANDIDATES : [wanted]) {
    const path = await probe(name);
    if (path !== undefined) return path;
  }
  return undefined;
}

async function probe(name: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(name, ['-c', PROBE], { timeout: PROBE_TIMEOUT_MS });
    const [path, minor] = stdout.trim().split('\n');
    return path !== undefined && ['10', '11', '12'].includes(minor ?? '') ? path : undefined;
  } catch {
    // Not installed, a shim without a version behind it, or built without venv: try the next.
    return undefined;
  }
}

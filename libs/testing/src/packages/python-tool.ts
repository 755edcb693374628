import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPython } from '../salt/python.ts';
import { saltCacheDir } from '../salt/venv.ts';

const run = promisify(execFile);

/**
 * The Python of an environment with one package, as `name==version`, beside those of Salt. The
 * first call needs a package index.
 * @throws Error without Python, or if the package can not be installed
 */
export async function pythonWith(wanted: string): Promise<string> {
  const dir = join(saltCacheDir(), `tool-${wanted.replace('==', '-')}`);
  if (!existsSync(dir)) {
    const python = await findPython();
    if (python === undefined) throw new Error(`${wanted} needs Python 3: none found`);
    await mkdir(saltCacheDir(), { recursive: true });
    const made = await mkdtemp(`${dir}-`);
    await run(python, ['-m', 'venv', made]);
    const pip = ['-m', 'pip', '--disable-pip-version-check', 'install', '-q', wanted];
    await run(join(made, 'bin', 'python'), pip);
    // Another test may have been faster.
    await rename(made, dir).catch(() => rm(made, { recursive: true }));
  }
  return join(dir, 'bin', 'python');
}

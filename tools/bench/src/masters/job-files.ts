import { createHash } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mapOf, pack } from '@brine/wire';

/** Files that are written at once. */
const LANES = 32;
const DAY_MS = 80_000_000;

/** `<cachedir>/jobs/<h2>/<h62>`: where salt/returners/local_cache.py keeps a job. */
function jobDir(cacheDir: string, jid: string): string {
  const hash = createHash('sha256').update(jid).digest('hex');
  return join(cacheDir, 'jobs', hash.slice(0, 2), hash.slice(2));
}

/** How many minions' returns of a job lie in a stock master's job cache. */
export async function countReturnFiles(cacheDir: string, jid: string): Promise<number> {
  try {
    const names = await readdir(jobDir(cacheDir, jid), { recursive: true });
    return names.filter((name) => name.endsWith('/return.p')).length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Writes jobs of the last day into a stock job cache: what a publish of `test.ping` leaves. */
export async function fillJobFiles(cacheDir: string, jobs: number): Promise<void> {
  const minions = pack(['filled']);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < jobs) {
      const jid = jidAt(Date.now() - (next * DAY_MS) / jobs, next);
      next += 1;
      const dir = jobDir(cacheDir, jid);
      await mkdir(dir, { recursive: true });
      await writeFile(join(dir, 'jid'), jid);
      await writeFile(join(dir, '.load.p'), pack(loadOf(jid)));
      await writeFile(join(dir, '.minions.p'), minions);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

function loadOf(jid: string) {
  return mapOf({
    jid,
    fun: 'test.ping',
    arg: [],
    tgt: '*',
    tgt_type: 'glob',
    user: 'root',
    ret: '',
    cmd: 'publish',
  });
}

/** A job id of that time; its last three digits are the index. */
function jidAt(ms: number, index: number): string {
  const digits = new Date(ms).toISOString().replace(/\D/g, '');
  return digits + String(index % 1_000).padStart(3, '0');
}

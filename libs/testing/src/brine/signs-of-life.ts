import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Signs in files that a command of Brine would succeed now. A command costs half a second of CPU
 * while the starting processes need it. Reading a file costs nothing.
 */

const POLL_MS = 50;
/** Log lines of a Brine minion and a stock one when they can take jobs. */
const TAKES_JOBS = /signed in|Minion is ready to receive requests!/;

/** A service and its readiness. */
export interface ServiceLine {
  readonly name: string;
  /** Absent while it is being started. */
  readonly pid: number | undefined;
  readonly ready: boolean;
}

interface SupervisedService {
  readonly name: string;
  readonly pid?: number;
  readonly state: string;
}

/** Waits until there is a sign, or the time is up. The next command then reports the fault. */
export async function waitForSign(sign: () => Promise<boolean>, until: number): Promise<void> {
  while (Date.now() < until && !(await sign())) await sleep(POLL_MS);
}

/** The services of a master, as its supervisor knows them. @throws as the file system does. */
export async function servicesOf(cacheDir: string): Promise<readonly ServiceLine[]> {
  const text = await readFile(join(cacheDir, 'brine', 'services.json'), 'utf8');
  const { services } = JSON.parse(text) as { readonly services: readonly SupervisedService[] };
  return services.map(({ name, pid, state }) => ({ name, pid, ready: state === 'ready' }));
}

/**
 * True if each service has reported to its supervisor that it is ready. As for `brine status`, a
 * master serves without its relay, which may wait for an upper master.
 */
export async function servicesReady(cacheDir: string): Promise<boolean> {
  const services = await servicesOf(cacheDir).catch(() => []);
  const needed = services.filter(({ name }) => name !== 'syndic-relay');
  return needed.length > 0 && needed.every(({ ready }) => ready);
}

/** True if there is a key file of each minion, accepted or waiting. */
export async function haveKeyFiles(pkiDir: string, ids: readonly string[]): Promise<boolean> {
  const dirs = ['minions', 'minions_pre'].map((dir) => join(pkiDir, dir));
  const names = (await Promise.all(dirs.map((dir) => readdir(dir).catch(() => [])))).flat();
  return ids.every((id) => names.includes(id));
}

/** True if each minion that logs in this directory can take jobs. */
export async function takeJobs(sandboxDir: string, ids: readonly string[]): Promise<boolean> {
  const taking = ids.map(async (id) => {
    const log = await readFile(join(sandboxDir, `minion-${id}.log`), 'utf8').catch(() => undefined);
    return log === undefined || TAKES_JOBS.test(log);
  });
  return (await Promise.all(taking)).every(Boolean);
}

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MasterOptions } from '@brine/config';
import { asOwnerOfNow, isAlive, textNowIfThere } from '@brine/files';
import { RefusedError } from '@brine/master-host';
import { isListenedOn, isOfOwner, whoListens } from '@brine/service/processes';

const LOOK_MS = 50;
/** A stock master gives its workers time to finish their requests, in ms. */
const STOP_MS = 60_000;

/** The process of a stock master that runs with these options; undefined if none does. */
export function stockMaster({ pidfile, retPort }: MasterOptions): number | undefined {
  const named = Number(asOwnerOfNow(dirname(pidfile), () => pidText(pidfile)).trim());
  if (isStockMaster(named) && isOfOwner(pidfile, named)) return named;
  // A master in the foreground of a service manager may have no pid file that can be read.
  const listening = Number(/^\d+/.exec(whoListens(retPort) ?? '')?.[0] ?? 0);
  return isStockMaster(listening) ? mainProcess(listening) : undefined;
}

/**
 * Stops a master by SIGTERM and waits until it is gone and its ports are free.
 * @param name name of the master in errors
 * @throws RefusedError `PORTS_TAKEN` if it does not end, or another program uses the ports
 */
export async function stopMaster(
  pid: number,
  name: string,
  { publishPort, retPort }: Pick<MasterOptions, 'publishPort' | 'retPort'>,
  deadlineMs = STOP_MS,
): Promise<void> {
  const until = performance.now() + deadlineMs;
  signal(pid, 'SIGTERM', name);
  while (isAlive(pid) || [publishPort, retPort].some(isListenedOn)) {
    if (performance.now() > until)
      throw new RefusedError(whyNot(pid, name, publishPort, retPort), 'PORTS_TAKEN');
    await sleep(LOOK_MS);
  }
}

function whyNot(pid: number, name: string, publishPort: number, retPort: number): string {
  if (isAlive(pid)) {
    return (
      `${name} (pid ${pid}) did not stop by SIGTERM. What was copied stays; stop it by its ` +
      'service manager, then run this again'
    );
  }
  const port = isListenedOn(retPort) ? retPort : publishPort;
  const who = whoListens(port);
  const by = who === undefined ? '' : ` by process ${who}`;
  return (
    `port ${port} is taken${by} although ${name} has stopped: if a service manager starts it ` +
    'again, disable it there, then run this again'
  );
}

/** Workers of a stock master and their parents share one name: walk up to the first. */
function mainProcess(pid: number): number {
  const parent = Number(/^PPid:\s*(\d+)$/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0);
  return isStockMaster(parent) ? mainProcess(parent) : pid;
}

/** The pid in a file may belong to another program by now. */
function isStockMaster(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  const command = readText(`/proc/${pid}/cmdline`);
  // A link to Brine may have the name of Salt's command.
  const isNode = /(?:^|\/)node$/.test(command.split('\0')[0] ?? '');
  return !isNode && /salt-master/.test(command);
}

function signal(pid: number, which: NodeJS.Signals, name: string): void {
  try {
    process.kill(pid, which);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return;
    throw new RefusedError(
      `${name} (pid ${pid}) belongs to another user: run this as root, or as its user`,
    );
  }
}

/** Text of a pid file; empty if it can not be read. */
function pidText(path: string): string {
  try {
    return textNowIfThere(path) ?? '';
  } catch {
    return '';
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // No such file or process.
  }
}

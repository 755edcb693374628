import { readFileSync } from 'node:fs';

/**
 * CPU that this thread has taken, in ms. Elapsed time also has what others on the machine took. The
 * process is a worse measure too: V8 compiles and collects in threads beside this one, and what
 * they do for one input is counted for the next.
 */
export function cpuMs(): number {
  if (process.platform === 'linux') {
    const [ns] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ');
    return Number(ns) / 1e6;
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

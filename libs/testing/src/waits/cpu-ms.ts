import { readFileSync } from 'node:fs';

/**
 * CPU time of this thread, in ms. Elapsed time also includes others on the machine. The process is
 * a worse measure too: V8 compiles and collects in other threads, and their work for one input is
 * counted for the next.
 */
export function cpuMs(): number {
  if (process.platform === 'linux') {
    const [ns] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ');
    return Number(ns) / 1e6;
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

// What a file costs: CPU of the process that runs it and of those that it waited for, which a
// report at the end of a run needs to say where time goes.
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** In ms. */
    cpuMs?: number;
  }
}

/** Linux counts in hundredths of a second whatever the kernel's clock is (USER_HZ, proc(5)). */
const TICK_MS = 10;
/** Places of utime, stime, cutime and cstime behind the program's name (proc(5)). */
const [FIRST, LAST] = [11, 15];

/** That of this process and of those that it waited for, in ms; 0 where there is no procfs. */
function cpuMs(): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(FIRST, LAST);
  return ticks.reduce((sum, count) => sum + Number(count) * TICK_MS, 0);
}

const before = cpuMs();
// Hooks that are set first run last: those of the file have ended what they began by now.
afterAll(({}, file) => {
  file.file.meta.cpuMs = cpuMs() - before;
});

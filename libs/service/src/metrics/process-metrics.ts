import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

/** The interval of measuring the loop's delay: each wakes an idle process. */
const LAG_EACH_MS = 100;

/** Adds the metrics that every process has, under the names that exporters commonly use. */
export function addProcessMetrics(metrics: Metrics): void {
  const delay = monitorEventLoopDelay({ resolution: LAG_EACH_MS });
  delay.enable();
  metrics.gaugeOf('process_start_time_seconds', 'Start of the process, Unix time.', () =>
    Math.round(performance.timeOrigin / 1000),
  );
  metrics.counterOf('process_cpu_seconds_total', 'CPU time of the process.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.gaugeOf('process_resident_memory_bytes', 'Memory of the process.', () =>
    process.memoryUsage.rss(),
  );
  // Under prom-client's names. The rest of the process's memory is native: sockets, libzmq.
  metrics.gaugeOf('nodejs_heap_size_total_bytes', 'Heap of JavaScript, used or kept.', () => {
    return process.memoryUsage().heapTotal;
  });
  metrics.gaugeOf('nodejs_external_memory_bytes', 'Buffers outside of the heap.', () => {
    return process.memoryUsage().external;
  });
  metrics.gaugeOf('process_open_fds', 'Open files and sockets.', openFiles);
  const most = openFilesMax();
  metrics.gaugeOf('process_max_fds', 'Files and sockets that may be open.', () => most);
  metrics.gaugeOf(
    'salt_process_open_fds',
    'Open files and sockets, under the name of Salt 3008.',
    openFiles,
  );
  metrics.gaugeOf('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop.', () => {
    // Node counts the time between two checks, and none as 0.
    const lateMs = delay.percentile(99) / 1e6 - LAG_EACH_MS;
    delay.reset();
    return Math.max(0, lateMs) / 1e3;
  });
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    // Only Linux has this directory.
    return 0;
  }
}

/** The soft limit, which Node raises to the hard one at its start; 0 if unknown. */
function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft = '0'] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
    return soft === 'unlimited' ? Infinity : Number(soft);
  } catch {
    // Only Linux has this file.
    return 0;
  }
}

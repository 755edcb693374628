import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { answerAt } from './blocking.ts';
import type { HostThreadData } from './blocking-host.ts';
import { PythonHost } from './host.ts';

const STDERR = 2;

const { settings, end } = workerData as HostThreadData;
const host = new PythonHost(settings, (level, text) => {
  // The main thread is blocked, so nothing else would print it.
  if (level !== 'info') writeSync(STDERR, `[${level.toUpperCase()}] ${text}\n`);
});
answerAt(end, host);

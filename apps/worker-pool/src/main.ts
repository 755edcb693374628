import { runService } from '@brine/service';
import { startWorker } from './worker.ts';

await runService({ name: 'worker-pool', main: startWorker });

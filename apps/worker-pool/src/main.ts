import { runService } from '@brine/service';
import { startWorker } from './start.ts';

await runService({ name: 'worker-pool', main: startWorker });

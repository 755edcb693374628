import { runService } from '@brine/service';
import { startReturner } from './start.ts';

await runService({ name: 'job-cache-returner', main: startReturner });

import { runService } from '@brine/service';
import { startRunnerPool } from './start.ts';

await runService({ name: 'runner-pool', main: startRunnerPool });

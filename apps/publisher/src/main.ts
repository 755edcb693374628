import { runService } from '@brine/service';
import { startPublisher } from './start.ts';

await runService({ name: 'publisher', main: startPublisher });

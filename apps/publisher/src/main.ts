import { runService } from '@brine/service';
import { startPublisher } from './start-publisher.ts';

await runService({ name: 'publisher', main: startPublisher });

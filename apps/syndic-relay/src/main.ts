import { runService } from '@brine/service';
import { startSyndicRelay } from './start.ts';

await runService({ name: 'syndic-relay', main: startSyndicRelay });

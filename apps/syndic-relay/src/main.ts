import { runService } from '@brine/service';
import { startSyndicRelay } from './syndic-relay.ts';

await runService({ name: 'syndic-relay', main: (context) => startSyndicRelay(context) });

import { runService } from '@brine/service';
import { startEventBus } from './start.ts';

await runService({ name: 'event-bus', main: startEventBus });

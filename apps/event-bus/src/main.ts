import { runService } from '@brine/service';
import { startEventBus } from './event-bus.ts';

await runService({ name: 'event-bus', main: startEventBus });

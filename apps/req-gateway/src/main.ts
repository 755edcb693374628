import { runService } from '@brine/service';
import { startGateway } from './start.ts';

await runService({ name: 'req-gateway', main: startGateway });

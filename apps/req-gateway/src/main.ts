import { runService } from '@brine/service';
import { startGateway } from './start-gateway.ts';

await runService({ name: 'req-gateway', main: startGateway });

import { runService } from '@brine/service';
import { startHttpApi } from './start.ts';

await runService({ name: 'http-api', main: startHttpApi });

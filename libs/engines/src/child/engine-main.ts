// The process of an engine: src/supervise/node-engine.ts starts it.
import { EngineLink } from './engine-link.ts';
import { runModule } from './run-module.ts';

const link = new EngineLink();
process.on('disconnect', () => {
  // Without its master an engine has no purpose.
  process.exit(1);
});
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
link.whenStarted(async (start) => {
  const outcome = await runModule(start, link);
  if (outcome !== undefined) link.end(outcome);
  else link.end({ type: 'failed', text: 'its module returned' });
});
link.loaded();

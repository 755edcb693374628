// A process that runs functions, one at a time, for the minion that forked it.
import { missingFunction, runFunction } from '../functions/run-function.ts';
import { hostFunctions } from '../modules/index.ts';
import { packOutcome, readRequest, type RunMessage } from './messages.ts';

process.on('message', (message: RunMessage) => {
  void run(message.body).then((body) => process.send?.({ type: 'done', body }));
});
// A runner never outlives its minion.
process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole group of a terminal; the minion decides when its runners end.
process.on('SIGINT', () => undefined);
// Without a listener Node opens its inspector, for every local user.
process.on('SIGUSR1', () => undefined);
process.send?.({ type: 'ready' });

async function run(body: Uint8Array): Promise<Buffer> {
  const { fun, args, published } = readRequest(body);
  const found = hostFunctions.get(fun);
  if (found === undefined) return packOutcome(missingFunction(fun, new Map()));
  return packOutcome(await runFunction(fun, found, args, published));
}

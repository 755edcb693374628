// A worker in a process of its own: answers each request with its own id, after a while if asked
// to. The request `block` makes it hang for ever.
import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus } from '../src/connection/connect.ts';
import { RequestReceiver } from '../src/rpc/request-receiver.ts';

const [url = '', workerId = '', delayMs = '0'] = process.argv.slice(2);
const bus = await connectBus({ url, name: 'worker-pool' });
const receiver = new RequestReceiver(bus, { workerId, host: 'test' });
receiver.serve(async (request) => {
  process.stdout.write(`got ${request.id}\n`);
  while (Buffer.from(request.body).toString() === 'block');
  await sleep(Number(delayMs));
  return { kind: 'reply', body: Buffer.from(workerId) };
});
process.stdout.write('ready\n');

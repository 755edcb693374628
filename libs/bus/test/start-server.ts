// Starts a server in the given directory, prints its pid, and stays until it is killed.
import { startNatsServer } from '@brine/nats-server';

const [binary = '', dir = ''] = process.argv.slice(2);
const server = await startNatsServer({ binary, dir });
process.stdout.write(`${server.pid}\n`);
setInterval(() => undefined, 60_000);

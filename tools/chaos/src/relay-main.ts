import { type Address, FaultProxy } from './fault-proxy.ts';

/** The passages to forward, from the first argument. */
interface Order {
  readonly listen: string;
  readonly to: Address;
}

// The other side of the wires: only forwards connections.
const orders = JSON.parse(process.argv[2] ?? '[]') as Order[];
const relays = await Promise.all(
  orders.map(({ listen, to }) => FaultProxy.listen(async () => to, listen)),
);
process.stdout.write(`${JSON.stringify(relays.map(({ port }) => port))}\n`);
process.stdin.resume();
process.stdin.once('end', () => process.exit(0));

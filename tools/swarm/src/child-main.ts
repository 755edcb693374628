import type { Envelope, Order, Reply } from './messages.ts';
import { Herd } from './minions/herd.ts';

let herd: Herd | undefined;

function needHerd(): Herd {
  if (herd === undefined) throw new Error('nothing was started');
  return herd;
}

async function obey(order: Order): Promise<unknown> {
  switch (order.kind) {
    case 'start':
      herd = await Herd.make(order.plan);
      return undefined;
    case 'load':
      return needHerd().load(order.order, order.loop);
    case 'watch':
      needHerd().watch();
      return undefined;
    case 'follow':
      return needHerd().follow(order);
    case 'stats':
      return needHerd().stats();
    case 'close':
      herd?.close();
      return undefined;
  }
}

function reply(message: Reply, after?: () => void): void {
  // The parent may be gone and need no answer.
  process.send?.(message, undefined, undefined, () => after?.());
}

process.on('message', (message) => {
  const { seq, order } = message as Envelope;
  obey(order).then(
    (value) => reply({ seq, value }, order.kind === 'close' ? leave : undefined),
    (error: unknown) => {
      reply({ seq, error: error instanceof Error ? error.message : String(error) });
    },
  );
});
// Ctrl-C reaches the whole group; the parent decides when the children end.
process.on('SIGINT', () => undefined);
process.once('disconnect', leave);

function leave(): void {
  process.exit(0);
}

import type { Bus } from '../src/connection/connect.ts';
import { TimerWheel } from '../src/connection/timer-wheel.ts';

type Callback = (error: null, msg: object) => void;

/** The part of a bus that requests need: a message reaches its subscribers, all in this process. */
export function busInMemory(): Bus {
  const subscriptions = new Set<{ readonly subject: string; readonly callback: Callback }>();
  const isFor = (pattern: string, subject: string): boolean =>
    pattern.endsWith('*')
      ? subject.startsWith(pattern.slice(0, -1)) && !subject.slice(pattern.length - 1).includes('.')
      : pattern === subject;
  const connection = {
    isClosed: () => false,
    isDraining: () => false,
    subscribe: (subject: string, { callback }: { readonly callback: Callback }) => {
      const subscription = { subject, callback };
      subscriptions.add(subscription);
      return { unsubscribe: () => void subscriptions.delete(subscription) };
    },
    publish: (
      subject: string,
      payload: Uint8Array | string,
      options: { readonly reply?: string } = {},
    ) => {
      const msg = { subject, data: Buffer.from(payload as Uint8Array), reply: options.reply };
      for (const one of subscriptions) {
        if (isFor(one.subject, subject)) queueMicrotask(() => one.callback(null, msg));
      }
    },
  };
  const bus = {
    status: 'connected',
    wheel: new TimerWheel(),
    connection,
    closed: new Promise(() => undefined),
    onReconnect: () => () => undefined,
  };
  return bus as unknown as Bus;
}

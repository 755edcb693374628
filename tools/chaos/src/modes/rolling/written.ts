import { streamUsage } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { connectToOwn } from '@brine/testing';

const BATCH = 256;

/** How returns are stored in the stream. */
export interface Written {
  /** Returns with a message of their own. */
  readonly alone: number;
  /** Messages with several returns, and the number of those. */
  readonly pages: number;
  readonly paged: number;
}

/**
 * Counts the messages of returns that are still in the stream: those of the last 15 minutes.
 * @throws Error if the server is unreachable or not the master's own.
 */
export async function countWritten(stateDir: string): Promise<Written> {
  await using bus = await connectToOwn(stateDir);
  const usage = (await streamUsage(bus)).find(({ stream }) => stream === 'EVENTS');
  let left = usage?.messages ?? 0;
  const written = { alone: 0, pages: 0, paged: 0 };
  const reader = new EventReader(bus, { from: 'all' });
  try {
    const batches = reader.unread(BATCH);
    while (left > 0) {
      const { value: messages } = await batches.next();
      if (messages === undefined) break;
      for (const { kind, count } of messages) {
        if (kind !== 'ret') continue;
        if (count === 1) written.alone += 1;
        else {
          written.pages += 1;
          written.paged += count;
        }
      }
      left -= messages.length;
    }
    return written;
  } finally {
    reader.close();
  }
}

import type { Stray } from '@brine/bus';
import type { StoreContext } from '../adapters/store-context.ts';

/** Puts a message that can not be read into quarantine, as it stands in the stream. */
export async function keepStray(
  stray: Stray,
  { cache, hold, counts }: Pick<StoreContext, 'cache' | 'hold' | 'counts'>,
): Promise<void> {
  const { stream, headers, timeUs, incarnation, seq, subject, data, why } = stray;
  const kept = await hold.until(() =>
    cache.quarantine(
      {
        ...{ kind: 'stray', jid: '', id: '', incarnation, seq, subject, raw: data },
        receivedAt: Math.floor(timeUs / 1000),
        told: { stream, headers, timeUs },
      },
      why,
    ),
  );
  if (kept === undefined) return stray.nak(0);
  counts.addRefused('strays', [kept]);
  stray.ack();
}

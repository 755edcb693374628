import { setTimeout as sleep } from 'node:timers/promises';
import { isMap, mapOf, storableText, textOf } from '@brine/wire';
import type { Bus } from '../connection/connect.ts';
import type { RequestClass } from '../subjects/names.ts';
import { type Answering, ask, serve } from './queries.ts';

const STALLED = 'brine.requests.stalled';
/** A question may go to a worker that is stalled itself and not replaced yet. */
const TRIES = 5;
const TIMEOUT_MS = 2_000;
const MAX_ID_CHARS = 255;

/** A request that is refused because two workers were lost to it. */
export interface StalledRequest {
  readonly class: RequestClass;
  /** The minion, where a minion asks: by its envelope, not proven. */
  readonly minion?: string;
  /** The host of the gateway. */
  readonly source: string;
}

/**
 * Lets a worker record it, since a gateway has no right to do so.
 * @throws BusError as {@link ask}, when no worker could be asked.
 */
export async function reportStalled(bus: Bus, request: StalledRequest): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await ask(bus, STALLED, mapOf({ ...request }), TIMEOUT_MS);
      return;
    } catch (error) {
      if (tries >= TRIES) throw error;
      await sleep(TIMEOUT_MS);
    }
  }
}

/** Receives such requests. Served by every worker. */
export function serveStalled(
  bus: Bus,
  record: (request: { readonly method: string; readonly claimed?: string; source: string }) => void,
): Answering {
  return serve(bus, STALLED, (request) => {
    if (!isMap(request)) return null;
    const [minion, source = ''] = [textOf(request, 'minion'), textOf(request, 'source')];
    const claimed = minion === undefined ? {} : { claimed: storableText(minion, MAX_ID_CHARS) };
    record({ method: textOf(request, 'class') ?? '', source, ...claimed });
    return null;
  });
}

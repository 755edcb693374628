import type { Expiry, RequestOutcome } from '@brine/bus/rpc';

const TEXTS: Partial<Readonly<Record<Expiry, string>>> = {
  stalled: 'Two workers were lost that had the request; it is not tried again',
  rests: 'Workers were lost to requests of this user; try again later',
};

/** What a client is told where its request, or one before it, stalled workers. */
export function stalledText(outcome: RequestOutcome): string | undefined {
  return outcome.kind === 'expired' ? TEXTS[outcome.why] : undefined;
}

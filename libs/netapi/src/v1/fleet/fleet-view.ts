import { mayRead, type Reader } from '@brine/acl';
import type { RowSight } from '@brine/fleet';
import type { HttpRequest } from '@brine/http';
import type { WholeFleet } from '../../fleet/fleet-feed.ts';
import { readsOf } from '../asking.ts';
import { callerAgain } from '../caller.ts';
import type { V1Parts } from '../parts.ts';

/** The fleet, and what the caller of a request sees of it. */
export interface FleetView extends WholeFleet {
  readonly reader: Reader;
  readonly sight: RowSight;
}

/**
 * The fleet as a caller may see it. Its rights are those of the last five seconds.
 * @throws RefusedRequest, NetapiError
 */
export async function fleetView(
  request: HttpRequest,
  parts: Pick<V1Parts, 'callers' | 'fleet' | 'sights' | 'pastRuns' | 'requests'>,
): Promise<FleetView> {
  const { callers, fleet, sights, pastRuns, requests } = parts;
  const { reader } = await callerAgain(request, { callers });
  const whole = await fleet.whole();
  if (mayRead(reader, { kind: 'job', principal: undefined })) {
    const ask = readsOf(request, { requests });
    pastRuns.read(whole.index, (given) => ask('past_runs', given));
  }
  return { ...whole, reader, sight: await sights.of(whole.index, reader) };
}

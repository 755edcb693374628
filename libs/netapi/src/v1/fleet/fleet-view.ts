import type { Reader } from '@brine/acl';
import type { RowSight } from '@brine/fleet';
import type { HttpRequest } from '@brine/http';
import type { WholeFleet } from '../../fleet/fleet-feed.ts';
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
  { callers, fleet, sights }: Pick<V1Parts, 'callers' | 'fleet' | 'sights'>,
): Promise<FleetView> {
  const { reader } = await callerAgain(request, { callers });
  const whole = await fleet.whole();
  return { ...whole, reader, sight: await sights.of(whole.index, reader) };
}

import { mayRead, type Reader } from '@brine/acl';
import type { RowSight } from '@brine/fleet';
import type { HttpRequest } from '@brine/http';
import { isMap, mapOf } from '@brine/wire';
import type { WholeFleet } from '../../fleet/fleet-feed.ts';
import { askedBy } from '../asking.ts';
import { callerAgain } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { whoAsks } from '../who.ts';

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
    const by = askedBy(request);
    const { token } = whoAsks(request).session;
    pastRuns.read(whole.index, async (given) => {
      const args = mapOf(given);
      const load = mapOf({ cmd: 'brine_read', token, read: 'past_runs', args });
      const answer = await requests.ask(load, by);
      return isMap(answer) ? (answer.get('value') ?? null) : null;
    });
  }
  return { ...whole, reader, sight: await sights.of(whole.index, reader) };
}

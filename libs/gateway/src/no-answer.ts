import type { Expiry, RequestOutcome } from '@brine/bus/rpc';
import { mapOf, pack, RefusalText } from '@brine/wire';
import type { Claimed } from './same-bytes.ts';

/** The one unsigned reply after which a minion tries again. Salt: crypt.py AsyncAuth.sign_in. */
export const BAD_LOAD_REPLY = pack(RefusalText.BAD_LOAD);

const TEXTS: Partial<Readonly<Record<Expiry, string>>> = {
  stalled: 'Two workers were lost that had the request; it is not tried again',
  rests: 'Workers were lost to requests of this user; try again later',
};

/** The text for a client whose request, or one before it, stalled workers. */
function stalledText(outcome: RequestOutcome): string | undefined {
  return outcome.kind === 'expired' ? TEXTS[outcome.why] : undefined;
}

/**
 * The answer to a clear request other than publish. Clients raise the error named in `error` (Salt:
 * salt/utils/error.py raise_error).
 */
export function commandAnswer(outcome: RequestOutcome): Uint8Array | undefined {
  if (outcome.kind === 'reply') return outcome.body;
  if (outcome.kind === 'drop') return undefined;
  const message =
    outcome.why === 'lapsed'
      ? 'The worker that had the request was lost; it may have been carried out'
      : (stalledText(outcome) ?? 'The master did not answer in time');
  return pack(mapOf({ error: mapOf({ name: 'SaltClientError', message }) }));
}

/**
 * The answer that a stock CLI prints cleanly: `{"error": text}` to a publish (Salt: salt/client
 * LocalClient.pub raises PublishError of it). The text denies a job only if no worker can have made
 * one.
 */
export function publishFailure(
  outcome: Exclude<RequestOutcome, { kind: 'reply' }>,
  { handed, isUnsure }: Claimed,
  ready: boolean,
): Buffer {
  const stalled = stalledText(outcome);
  if (handed) {
    const see = 'the job may have been published, see jobs.list_jobs';
    return pack(mapOf({ error: `${stalled ?? 'The master did not answer in time'}; ${see}` }));
  }
  const why =
    stalled ??
    (outcome.kind === 'expired' && outcome.why === 'limit'
      ? 'The master has too many requests in hand; try again later'
      : ready
        ? 'The master is busy: no worker had room'
        : 'The master is not ready: no worker answers');
  return pack(mapOf({ error: isUnsure ? why : `${why}; the job was not published` }));
}

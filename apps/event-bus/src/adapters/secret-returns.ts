import type { SealedText } from '@brine/crypt';
import { pack, type SaltMap, textOf, unpack, unpackMap, WireError } from '@brine/wire';
import { endsRun, hasSecretReturn } from '@brine/wire/load';

/** The caller of a wheel has the return in the answer, and waits for no event. */
const OF_RUNNER = 'salt/run/';

/**
 * Opens a secret return for the tools that wait at the sockets of this host: a stock `salt-run -a`
 * gets its token there and nowhere else. The stream keeps it sealed, also for every other reader.
 *
 * @returns the body with the return, or undefined for any other event
 */
export function openSecretReturn(
  returns: Pick<SealedText, 'open'>,
  tag: string,
  body: Uint8Array,
): Uint8Array | undefined {
  if (!tag.startsWith(OF_RUNNER) || !endsRun(tag)) return undefined;
  const data = readMap(body);
  if (data === undefined || !hasSecretReturn(textOf(data, 'fun') ?? '')) return undefined;
  const text = textOf(data, 'return');
  const opened = text === undefined ? undefined : returns.open(tag, text);
  if (opened === undefined) return undefined;
  data.set('return', unpack(opened));
  return pack(data);
}

function readMap(body: Uint8Array): SaltMap | undefined {
  try {
    return unpackMap(body);
  } catch (error) {
    if (error instanceof WireError) return undefined; // The readers count the error.
    throw error;
  }
}

import type { HttpRequest } from '@brine/http';
import { isMap, mapIn, mapOf, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { NetapiError } from '../../errors.ts';
import { addressOf } from '../../rest-cherrypy/asked.ts';
import { needClient } from '../enabled.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { inPlace, whoAsks } from '../who.ts';

/** How long a request waits for a runner that reads or changes little, in seconds. */
const WAIT_S = 30;

/** The codes of {@link callRunner}. */
export const CALL_CODES = ['forbidden', 'refused', 'too-many', 'no-master'] as const;

/**
 * Runs a runner with the rights of the caller of a request, and waits for its value.
 * @throws RefusedRequest `refused` with the text of a runner that failed
 */
export function callRunner(
  request: HttpRequest,
  parts: Pick<V1Parts, 'enabled' | 'client' | 'room'>,
  fun: string,
  kwarg: Readonly<Record<string, SaltValue | undefined>> = {},
): Promise<SaltValue> {
  needClient(parts, 'callRunner');
  const { token } = whoAsks(request).session;
  const chunk = mapOf({ fun, kwarg: mapOf(kwarg), token, timeout: WAIT_S, full_return: true });
  return inPlace(request, parts.room, async () => {
    const address = addressOf(request);
    const event = await inTime(() => parts.client.run({ client: 'runner', chunk }, { address }));
    const whole = event.kind === 'value' && isMap(event.value) ? event.value : mapOf({});
    const data = mapIn(whole, 'data') ?? mapOf({});
    const value = data.get('return') ?? null;
    if (data.get('success') !== true) throw new RefusedRequest('refused', pyStr(value));
    return value;
  });
}

async function inTime<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof NetapiError) || cause.status !== 504) throw cause;
    const text = `It did not end within ${WAIT_S} s, and may still run.`;
    throw new RefusedRequest('no-master', text, { cause, retryAfter: WAIT_S });
  }
}

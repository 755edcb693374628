import { Crypticle } from '@brine/crypt';
import { textOf, unpackMap } from '@brine/wire';
import { readPublication } from '@brine/wire/frames';
import { Broken } from './broken.ts';
import type { SentFrame } from './world/publish-port.ts';

/**
 * Of each AES key: a serial is of one publication, and what is new is higher than all before. A
 * publisher that starts sends the last ones once more, each with the serial that it had, those of
 * before a new key under the new one: they are lower than what went out under it, to no harm.
 * `placeOf`: where a job stands in the stream; jobs go out for the first time in that order.
 */
export function checkSerials(
  sent: readonly SentFrame[],
  keyStrings: readonly string[],
  notAfter: (jid: string) => number,
  placeOf: (jid: string) => number | undefined,
): void {
  const jids = new Set<string>();
  const given = new Set<string>();
  let last = { jid: '', place: -1 };
  const keys = keyStrings.map((text) => ({
    crypticle: new Crypticle(text),
    jids: new Map<number, string>(),
    highest: 0,
  }));
  for (const { frame, wallMs } of sent) {
    const { load } = readPublication(frame);
    for (const key of keys) {
      const body = openWith(key.crypticle, load);
      if (body === undefined) continue;
      const map = unpackMap(body);
      const serial = Number(map.get('serial'));
      const jid = textOf(map, 'jid') ?? '';
      const before = key.jids.get(serial);
      if (before !== undefined && before !== jid) {
        throw new Broken('a serial is given once', `${serial}: ${before} and ${jid}`);
      }
      const again = `${serial} ${jid}`;
      if (before === undefined && serial <= key.highest && !given.has(again)) {
        throw new Broken('no serial goes back', `${jid}: ${serial} after ${key.highest}`);
      }
      if (wallMs > notAfter(jid)) throw new Broken('what has expired is not sent', jid);
      const place = jids.has(jid) ? undefined : placeOf(jid);
      jids.add(jid);
      if (place !== undefined) {
        if (place < last.place)
          throw new Broken('jobs go out in their order', `${last.jid}, ${jid}`);
        last = { jid, place };
      }
      given.add(again);
      key.jids.set(serial, jid);
      key.highest = Math.max(key.highest, serial);
      break;
    }
  }
}

function openWith(crypticle: Crypticle, load: Uint8Array): Buffer | undefined {
  try {
    return crypticle.open(load);
  } catch {
    return undefined; // sealed with another key
  }
}

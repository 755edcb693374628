import type { Crypticle } from '@brine/crypt';
import { bytesOf, type SaltValue, unpack } from '@brine/wire';
import type { Sent } from './frames.ts';

/** Longer values are shown by type: their content does not depend on the sender's rights. */
const SHOWN_CHARS_MAX = 300;

/** The outcome of a frame as text that is equal for every master and every run. */
export function outcomeOf(reply: Buffer, sent: Sent): string {
  let value: SaltValue;
  try {
    value = unpack(reply);
  } catch {
    return 'no msgpack';
  }
  if (value instanceof Uint8Array) return sealedOutcome(value, sent);
  if (!(value instanceof Map)) return `clear ${show(value)}`;
  if (value.has('pillar') && value.has('key')) return 'a pillar, sealed to the minion alone';
  const signed = value.has('sig') ? bytesOf(value, 'load') : undefined;
  if (signed === undefined) return `clear ${show(value)}`;
  const inner = unpack(signed);
  if (inner instanceof Map && inner.has('aes')) {
    return `signed, accepted: ${[...inner.keys()].map(keyText).sort().join(' ')}`;
  }
  return `signed ${show(inner)}`;
}

function sealedOutcome(blob: Uint8Array, { keys, nonce }: Sent): string {
  for (const key of keys) {
    const body = opened(key, blob, nonce);
    if (body !== undefined) return `sealed ${show(unpack(body))}`;
  }
  return 'sealed otherwise';
}

function opened(key: Crypticle, blob: Uint8Array, nonce: string | undefined): Buffer | undefined {
  try {
    return nonce === undefined ? key.open(blob) : key.openReply(blob, nonce);
  } catch {
    return undefined;
  }
}

function show(value: SaltValue): string {
  const text = JSON.stringify(plain(value)) ?? 'nothing';
  // Ids of jobs, nonces and keys differ with every run.
  const steady = text
    .replaceAll(/\b20\d{18}\b/g, '<jid>')
    .replaceAll(/"nonce":"[0-9a-f]{32}"/g, '"nonce":"<nonce>"')
    .replaceAll(/[A-Za-z0-9+/]{75}=/g, '<key>');
  if (steady.length <= SHOWN_CHARS_MAX) return steady;
  return value instanceof Map
    ? `a map of ${[...value.keys()].map(keyText).sort().join(' ')}`
    : typeof value;
}

function plain(value: SaltValue): unknown {
  if (value instanceof Map) {
    const entries = [...value].map(([name, one]): [string, unknown] => [keyText(name), plain(one)]);
    return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Uint8Array) return '<bytes>';
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'object' && value !== null ? '<other>' : value;
}

function keyText(key: SaltValue): string {
  return typeof key === 'string' ? key : (JSON.stringify(plain(key)) ?? 'nothing');
}

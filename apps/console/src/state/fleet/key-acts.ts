import type { KeyAct, KeyActed, KeyShown } from '@brine/api/fleet';

/** Keys of one request (libs/api keys.ts). */
const KEYS_MAX = 1_000;

export type KeyActName = KeyAct['act'];

/** The keys that an act is for: those that wait, to delete all. */
export function actedOn(act: KeyActName, keys: readonly KeyShown[]): readonly KeyShown[] {
  return act === 'delete' ? keys : keys.filter(({ state }) => state === 'pending');
}

/**
 * The requests of an act. They name each key by its fingerprint: one that was offered since is left
 * alone.
 */
export function keyRequests(act: KeyActName, keys: readonly KeyShown[]): readonly KeyAct[] {
  const requests: KeyAct[] = [];
  for (let from = 0; from < keys.length; from += KEYS_MAX) {
    const some = keys.slice(from, from + KEYS_MAX);
    requests.push({
      act,
      ids: some.map(({ id }) => id),
      expect: { count: some.length },
      fingerprints: some.flatMap(({ id, fingerprints, denied }) => {
        const one = fingerprints ?? denied[0];
        return one === undefined ? [] : [{ id, fingerprint: one.salt3008 }];
      }),
    });
  }
  return requests;
}

type Result = KeyActed['results'][number]['result'];

const WORDS: Readonly<Record<Result, string>> = {
  done: 'done',
  'no-key': 'without such a key any more',
  'other-key': 'have another key now',
  unchanged: 'left as they were by the master',
};

/** What an act did, as a sentence. */
export function actedText(act: KeyActName, results: KeyActed['results']): string {
  const parts = (Object.keys(WORDS) as Result[]).flatMap((result) => {
    const count = results.filter((one) => one.result === result).length;
    const word = result === 'done' ? DONE[act] : WORDS[result];
    return count === 0 ? [] : [`${new Intl.NumberFormat('en').format(count)} ${word}`];
  });
  return `${parts.join(', ')}.`;
}

const DONE: Readonly<Record<KeyActName, string>> = {
  accept: 'accepted',
  reject: 'rejected',
  delete: 'deleted',
};

/** A fingerprint as people paste it, without what is around and between its digits. */
function digits(text: string): string {
  return text.toLowerCase().replace(/[^0-9a-f]/g, '');
}

/** Digits of a fingerprint by SHA-256. */
const DIGITS = 64;

/** Which key a pasted fingerprint belongs to, in either form; undefined while it is not whole. */
export function comparedWith(
  { fingerprints, denied }: Pick<KeyShown, 'fingerprints' | 'denied'>,
  pasted: string,
): 'this' | 'denied' | 'other' | undefined {
  const wanted = digits(pasted);
  if (wanted.length !== DIGITS) return undefined;
  const has = (one: KeyShown['fingerprints']): boolean =>
    one !== null && [one.salt3006, one.salt3008].some((form) => digits(form) === wanted);
  if (has(fingerprints)) return 'this';
  return denied.some(has) ? 'denied' : 'other';
}

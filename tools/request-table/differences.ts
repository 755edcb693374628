/** Reasons for answers that differ from salt-master 3008.2, by names of frames. */
export const DIFFERENCES: readonly (readonly [RegExp, string])[] = [
  [
    /^clear \S+: id of a wrong type$/,
    'closed: an id that is no text is refused in every request, not in some',
  ],
  [
    /^clear (?:publish|runner|wheel|mk_token): .*wrong type/,
    'closed: 3008.2 fails with an exception without a useful text; here it is refused by name',
  ],
  [
    /^clear (?:runner|wheel): (?:good|replay|key of root, user unknown to it|id of a wrong type)$/,
    'runners and wheels are a closed table here: what they return may differ',
  ],
  [
    /^clear _auth: nonce of a wrong type$/,
    'closed: a nonce that is no text can not bind an answer',
  ],
  [
    /^clear _auth: unknown encryption algorithm$/,
    '3008.2 fails with an exception; the minion understands "bad enc algo" (protocol.md 3.4)',
  ],
  [/^odd: cmd of a wrong type$/, '3008.2 names its pool routing; here it is an unknown command'],
  [
    /^aes \S+: nonce of a wrong type$/,
    '3008.2 fails while it seals the answer; here it is sealed without a nonce',
  ],
  [
    /^aes \S+: fields of wrong types$/,
    '3008.2 fails inside of the command and answers an empty text; here nothing is found',
  ],
  [/^aes _mine_flush: /, 'there is no mine in this version: nothing to flush is no error'],
  [
    /^aes _return: (?:no nonce|replay)$/,
    'the second return of a job fails in the job cache of 3008.2; here it is counted once',
  ],
  [/^aes pub_ret: /, 'there is no peer communication in this version'],
  [
    /^deadly: /,
    'closed: 3008.2 loses a worker, which answers no request from then on; here it is refused',
  ],
];

/** The reason for a difference; undefined if none is known, which is a bug. */
export function reasonFor(name: string): string | undefined {
  return DIFFERENCES.find(([pattern]) => pattern.test(name))?.[1];
}

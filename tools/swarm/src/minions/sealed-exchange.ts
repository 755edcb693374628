import { CryptError, type Crypticle } from '@brine/crypt';
import { unpack, WireError } from '@brine/wire';
import { between } from './behaviours.ts';
import type { RequestLine } from './request-line.ts';
import type { LoadHead, MinionFields } from './sealed-request.ts';
import type { Surroundings } from './surroundings.ts';

/** The part of a simulated minion that sealing and sending needs. */
export interface SealingMinion {
  readonly id: string;
  readonly line: RequestLine;
  readonly fields: MinionFields;
  /** Undefined before its log-in. */
  readonly key: Crypticle | undefined;
  logIn(): Promise<unknown>;
}

/** The end of a sealed request, after all sends. */
export type ExchangeEnd = 'answered' | 'refused' | 'timed-out';

/** IV 16, prefix, nonce and nil 8 + 32 + 1 in blocks 48, MAC 32: no sealed answer is shorter. */
const MIN_SEALED_BYTES = 96;
// str8, raw16, raw32, bin8, bin16, bin32: the heads of a long text or of bytes.
const LONG_HEADS = new Set([0xd9, 0xda, 0xdb, 0xc4, 0xc5, 0xc6]);

/**
 * Sends a load as a stock minion sends its returns. It retries after 5 to 10 s without an answer,
 * at once after an invalid answer, and after a log-in if the master does not know the key. After
 * the maximum of sends it is lost. `onSend` is called for each send.
 */
export function exchange(
  minion: SealingMinion,
  around: Surroundings,
  head: LoadHead,
  onSend: (send: number) => void,
  done: (end: ExchangeEnd, resent: number) => void,
): void {
  let sends = 0;
  const again = (end: ExchangeEnd): void => {
    if (sends >= around.returnSends) return done(end, sends - 1);
    around.counts.resends += 1;
    minion.line.whenFree(send);
  };
  const send = (): void => {
    const { key } = minion;
    if (key === undefined) return done('refused', Math.max(0, sends - 1));
    sends += 1;
    onSend(sends);
    const body = around.requests.seal(head, minion.fields, key);
    const nonce = around.requests.lastNonce;
    minion.line.request(body, between(around.returnTimeoutMs), (reply) => {
      if (reply === undefined) return again('timed-out');
      if (isSealed(reply)) {
        if (nonce % around.openEvery === 0) check(reply, nonce, minion, around);
        return done('answered', sends - 1);
      }
      if (!isShortText(reply)) return again('refused');
      // `bad load`: the keys have changed (protocol.md 2.6).
      void minion.logIn().then(() => again('refused'));
    });
  };
  minion.line.whenFree(send);
}

/** Verifies that the master made the answer, for this request. */
function check(reply: Buffer, nonce: number, minion: SealingMinion, around: Surroundings): void {
  const { counts, requests } = around;
  counts.repliesOpened += 1;
  try {
    const sealed = unpack(reply);
    const bytes = typeof sealed === 'string' ? Buffer.from(sealed) : sealed;
    if (!(bytes instanceof Uint8Array)) counts.badReplies += 1;
    else minion.key?.openReply(bytes, requests.nonceText(nonce));
  } catch (error) {
    if (!(error instanceof CryptError || error instanceof WireError)) throw error;
    counts.badReplies += 1;
  }
}

/** True for the form of a sealed answer. */
export function isSealed(reply: Buffer): boolean {
  return reply.length >= MIN_SEALED_BYTES && LONG_HEADS.has(reply[0] ?? 0);
}

/** True for texts shorter than a MAC, such as `bad load`: a minion logs in again. */
export function isShortText(reply: Buffer): boolean {
  const head = reply[0] ?? 0;
  return head >= 0xa0 && head <= 0xbf;
}

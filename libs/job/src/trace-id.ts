import { createHash } from 'node:crypto';
import type { Jid } from './jid.ts';

/**
 * The trace id of a job, 32 hex digits: a hash of the jid, so that every service and every
 * minion knows it without being told (minions break the W3C context at the return).
 */
export function traceIdOf(jid: Jid): string {
  return hashOf(jid).slice(0, 32);
}

/**
 * The id of one span of a job, 16 hex digits.
 * @param part names the seam, as `gateway.publish` or `store.<minion id>`.
 */
export function spanIdOf(jid: Jid, part: string): string {
  return hashOf(`${jid}\0${part}`).slice(0, 16);
}

// An all-zero id is invalid in W3C trace context; sha256 does not give one in practice.
function hashOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

import { hash } from 'node:crypto';
import type { Jid } from './jid.ts';

/**
 * The `tracestate` of a publish load whose sender records the root of the job's trace itself, as
 * the `request` part. Other systems must ignore it without a `traceparent` beside it (W3C).
 */
export const ASKER_TRACES = 'brine=asker';

/**
 * The trace id of a job, 32 hex digits: a hash of the jid, so every service knows it without a
 * message. (Minions break the W3C context at the return.)
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

/** The trace id of a request that belongs to no job; services on its way know its request id. */
export function requestTraceIdOf(requestId: string): string {
  return hashOf(`request\0${requestId}`).slice(0, 32);
}

/** The id of one span of such a request. */
export function requestSpanIdOf(requestId: string, part: string): string {
  return hashOf(`request\0${requestId}\0${part}`).slice(0, 16);
}

/**
 * The part of a span of one publishing. A job whose jid the caller fixed may be published in
 * several pieces (batches, syndics), whose spans must not have the same ids.
 */
export function publishingPart(part: string, piece?: string): string {
  return piece === undefined ? part : `${part}#${piece}`;
}

/** The W3C `traceparent` that names one span of a job. */
export function traceparentOf(jid: Jid, part: string): string {
  return `00-${traceIdOf(jid)}-${spanIdOf(jid, part)}-01`;
}

// An all-zero id is invalid in W3C trace context; sha256 does not give one in practice.
function hashOf(text: string): string {
  return hash('sha256', text, 'hex');
}

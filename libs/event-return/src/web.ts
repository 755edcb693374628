import { createHash } from 'node:crypto';
import { dataJson, type EventToReturn } from './event.ts';
import type { Batch } from './gathering.ts';
import { ReturnerError } from './returner.ts';

/** A request to a web server, with JSON. */
export interface WebPost {
  readonly url: string;
  readonly method: 'POST' | 'PUT' | 'GET' | 'HEAD';
  readonly headers: ReadonlyMap<string, string>;
  readonly body?: string;
}

/** An answer of a web server. */
export interface WebReply {
  readonly status: number;
  readonly reason: string;
  readonly body: Uint8Array;
}

/** Statuses that mean "later": too many requests, or a proxy whose server is unreachable. */
const LATER = new Set([401, 403, 404, 408, 421, 423, 425, 429]);
const SHOWN_BYTES = 300;

/** The events of a batch as a list of `{tag, data}`, for a site's own web server. */
export function postOf(batch: Batch, url: string, headers: ReadonlyMap<string, string>): WebPost {
  const { events, from, to } = batch;
  const body = `[${events.map(eventJson).join(',')}]`;
  // Each try of a batch has the same key, so that a server can recognize duplicates.
  const key = createHash('sha256').update(`${from} ${to}`).digest('base64url').slice(0, 32);
  const ours = [
    ['Content-Type', 'application/json'],
    ['Idempotency-Key', key],
  ] as const;
  return { url, method: 'POST', headers: new Map([...ours, ...headers]), body };
}

function eventJson(event: EventToReturn): string {
  return `{"tag":${JSON.stringify(event.tag)},"data":${dataJson(event)}}`;
}

/**
 * Throws ReturnerError unless the status is a success: `away` if a later try may succeed, `refused`
 * if the server calls the request invalid.
 */
export function checkReply({ status, reason, body }: WebReply): void {
  if (status >= 200 && status < 300) return;
  const text = Buffer.from(body.subarray(0, SHOWN_BYTES)).toString('utf8').replaceAll(/\s+/g, ' ');
  const isRefusal = status >= 400 && status < 500 && !LATER.has(status);
  throw new ReturnerError(
    isRefusal ? 'refused' : 'away',
    `the server answered ${status} ${reason}: ${text}`.trim(),
  );
}

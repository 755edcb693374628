import type { Problem, ProblemCode } from '@brine/api';
import { API_PATH } from '../places.ts';

/** A query of `/v1`; what is undefined or empty is left out, lists are repeated. */
export type Query = Readonly<Record<string, QueryValue>>;
type QueryValue = string | number | boolean | readonly string[] | undefined;

/** What is asked besides a path. */
export interface Asked {
  readonly query?: Query;
  readonly body?: unknown;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** The same request with the same key is done once, to whichever replica it goes. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /** An answer with more bytes is not read. */
  readonly bytesMax?: number;
}

/** An answer of `/v1` that is an error, or no answer at all: then `code` is undefined. */
export class ApiError extends Error {
  readonly code: ProblemCode | undefined;
  readonly retryable: boolean;
  /** With the code `changed`: how many minions the target has now, and their digest. */
  readonly changed: { readonly count: number; readonly digest: string } | undefined;
  /** With the code `changed`, of keys too: how many there are now. */
  readonly count: number | undefined;

  constructor(problem: Partial<Problem>) {
    const { title = 'The master can not be reached', detail, code, retryable = true } = problem;
    super(detail === undefined ? title : `${title}: ${detail}`);
    this.name = 'ApiError';
    this.code = code;
    this.retryable = retryable;
    const { count, digest } = problem;
    this.count = count;
    this.changed = count === undefined || digest === undefined ? undefined : { count, digest };
  }
}

/** The path of a thing below `/v1`, whatever is in its name. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/** An address of `/v1` as one may copy it. */
export function addressOf(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one));
  }
  const text = params.toString();
  return `${API_PATH}${path}${text === '' ? '' : `?${text}`}`;
}

/** How long a request whose answer was lost waits before it is sent again, ms. */
const AGAIN_MS = [500, 1_000, 2_000, 4_000];

/**
 * Asks `/v1`. The cookie names the caller. A request with a key is sent again where its answer was
 * lost: the replica that had it may be gone, and another one does it once.
 * @throws ApiError with the title and the detail of the answer
 */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  for (const pauseMs of asked.idempotencyKey === undefined ? [] : AGAIN_MS) {
    try {
      return await askOnce<T>(path, asked);
    } catch (error) {
      if (!isLost(error)) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs);
      });
    }
  }
  return askOnce<T>(path, asked);
}

/** True where no answer of `/v1` came: what was asked for may have been done. */
export function isLost(error: unknown): boolean {
  return error instanceof ApiError && error.code === undefined && error.retryable;
}

async function askOnce<T>(path: string, asked: Asked): Promise<T> {
  const { query, body, method = body === undefined ? 'GET' : 'POST', signal } = asked;
  const headers = new Headers();
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  if (asked.idempotencyKey !== undefined) headers.set('Idempotency-Key', asked.idempotencyKey);
  const answer = await fetch(addressOf(path, query), {
    method,
    headers,
    credentials: 'same-origin',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError({});
  });
  if (answer.status === 204) return undefined as T;
  const value = await valueOf(answer, asked.bytesMax).catch((error: unknown) => {
    if (error instanceof ApiError || signal?.aborted === true) throw error;
    // A process that ends breaks its answers off, and a proxy may have an answer of its own.
    throw new ApiError(answer.ok ? {} : { title: answer.statusText });
  });
  if (!answer.ok) throw new ApiError(value as Problem);
  return value as T;
}

/** Reads a JSON answer. @throws ApiError for a longer one, which is not read to its end */
async function valueOf(answer: Response, bytesMax = Infinity): Promise<unknown> {
  if (bytesMax === Infinity || answer.body === null) return answer.json();
  const reader = answer.body.getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    bytes += value.byteLength;
    if (bytes <= bytesMax) continue;
    await reader.cancel();
    const title = 'This answer is too large for a page';
    throw new ApiError({ title, detail: `more than ${bytesMax} bytes`, retryable: false });
  }
  return JSON.parse(await new Blob(parts as BlobPart[]).text()) as unknown;
}

/** True for an error that ends with a new log-in. */
export function isLoggedOut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not-logged-in';
}

import { z } from 'zod';

/** One kind of error. */
export interface ProblemKind {
  readonly status: number;
  /** The same for each of its kind. */
  readonly title: string;
  /** True if the same request may succeed later, unchanged. */
  readonly retryable: boolean;
}

/** All errors of `/v1`, by their codes. A code is never used for another error later. */
export const PROBLEMS = {
  'bad-request': {
    status: 400,
    title: 'The request does not fit its description',
    retryable: false,
  },
  'not-logged-in': { status: 401, title: 'This needs a log-in', retryable: false },
  'log-in-refused': { status: 401, title: 'The log-in was refused', retryable: false },
  forbidden: { status: 403, title: 'The caller has no right to do this', retryable: false },
  'other-origin': {
    status: 403,
    title: 'A page of another origin may not ask this',
    retryable: false,
  },
  'not-found': { status: 404, title: 'There is no such thing', retryable: false },
  'bad-method': { status: 405, title: 'This address has no such method', retryable: false },
  changed: {
    status: 409,
    title: 'The target has changed since it was counted',
    retryable: false,
  },
  gone: { status: 410, title: 'This is not kept any more', retryable: false },
  'too-large': { status: 413, title: 'The body is too large', retryable: false },
  'not-json': { status: 415, title: 'A body is JSON', retryable: false },
  'bad-target': { status: 422, title: 'The target can not be resolved', retryable: false },
  refused: { status: 422, title: 'The function of the master failed', retryable: false },
  'key-in-use': {
    status: 422,
    title: 'This Idempotency-Key was used for another request',
    retryable: false,
  },
  'too-many': { status: 503, title: 'Too many requests are in hand', retryable: true },
  'no-master': { status: 503, title: 'The master does not answer', retryable: true },
  fault: { status: 500, title: 'The request failed', retryable: false },
} as const satisfies Readonly<Record<string, ProblemKind>>;

/** The name of an error, for programs. */
export type ProblemCode = keyof typeof PROBLEMS;

const CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** An error as `application/problem+json` has it (RFC 9457). */
export const problemSchema = z
  .object({
    type: z.string().describe('The place in the documentation that explains the code.'),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional().describe('What was wrong with this request.'),
    instance: z.string().describe('The path of the request.'),
    code: z.enum(CODES),
    retryable: z.boolean().describe('True if the same request may succeed later, unchanged.'),
    count: z.int().min(0).optional().describe('With `changed`: the minions of the target now.'),
    digest: z.string().optional().describe('With `changed`: their digest.'),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

import { nothingSchema, type ProblemCode, PROBLEMS, problemSchema } from '@brine/api';

/** The media type of problems (RFC 9457). */
export const PROBLEM_TYPE = 'application/problem+json';

/** The schema of an answer without a body. */
export const nothing = nothingSchema;

/** Errors that each route with a log-in may answer. */
const OF_ALL: readonly ProblemCode[] = ['bad-request', 'not-logged-in', 'other-origin', 'fault'];

/** An error as an answer. */
export interface ProblemAnswer {
  readonly description: string;
  readonly content: { readonly [PROBLEM_TYPE]: { readonly schema: typeof problemSchema } };
}

/** The errors of a route, by status, as schemas of its answers. */
export function problems(...codes: readonly ProblemCode[]): Record<number, ProblemAnswer> {
  const titles = new Map<number, string[]>();
  for (const code of [...OF_ALL, ...codes]) {
    const { status, title } = PROBLEMS[code];
    titles.set(status, [...(titles.get(status) ?? []), title]);
  }
  const content = { [PROBLEM_TYPE]: { schema: problemSchema } };
  return Object.fromEntries(
    [...titles].map(([status, of]) => [status, { description: `${of.join('. ')}.`, content }]),
  );
}

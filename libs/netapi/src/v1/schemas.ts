import { nothingSchema, type ProblemCode, PROBLEMS, problemSchema } from '@brine/api';

/** The schema of an answer without a body. */
export const nothing = nothingSchema;

/** Errors that each route with a log-in may answer. */
const OF_ALL: readonly ProblemCode[] = ['bad-request', 'not-logged-in', 'other-origin', 'fault'];

/** The errors of a route, by status, as schemas of its answers. */
export function problems(...codes: readonly ProblemCode[]): Record<number, typeof problemSchema> {
  return Object.fromEntries(
    [...OF_ALL, ...codes].map((code) => [PROBLEMS[code].status, problemSchema]),
  );
}

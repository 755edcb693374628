import type { RequestKind } from './trace-note.ts';

/** The traced part of jobs and requests: option `brine.trace`. */
export type TraceProfile = 'off' | 'errors' | 'sampled' | 'all';

/** The returns of a job that get spans. */
export interface ReturnSampling {
  /** The first returns of a job at one worker: all of a small job. */
  readonly first: number;
  /** Failed returns beside those. */
  readonly failed: number;
  /** Share of the others from 0 to 1, chosen by job and minion. */
  readonly ratio: number;
}

/** The records of a profile beside the way of the job itself. */
export interface TraceShares {
  readonly returns: ReturnSampling;
  /** Share from 0 to 1 of the requests that belong to no job. */
  readonly requests: Readonly<Record<RequestKind, number>>;
}

const NO_RETURNS: ReturnSampling = { first: 0, failed: 0, ratio: 0 };

/** The shares of each profile. Queries are an operator's own commands: few, so all are traced. */
export const TRACE_SHARES: Readonly<Record<TraceProfile, TraceShares>> = {
  off: { returns: NO_RETURNS, requests: { login: 0, pillar: 0, event: 0, query: 0 } },
  errors: {
    returns: { first: 0, failed: 100, ratio: 0 },
    requests: { login: 0, pillar: 0, event: 0, query: 1 },
  },
  sampled: {
    returns: { first: 100, failed: 100, ratio: 0.01 },
    requests: { login: 0.1, pillar: 0.1, event: 0.01, query: 1 },
  },
  all: {
    returns: { first: 0, failed: 0, ratio: 1 },
    requests: { login: 1, pillar: 1, event: 1, query: 1 },
  },
};

import type { Ledger } from '../load/ledger.ts';
import type { SwarmCounts } from '../types.ts';
import type { LogIns } from './log-in.ts';
import type { MasterKnowledge } from './master-knowledge.ts';
import type { Publications } from './publications.ts';
import type { Deadlines } from './request-line.ts';
import type { SealedRequests } from './sealed-request.ts';

/** Data shared by all minions of a process. */
export interface Surroundings {
  readonly host: string;
  readonly retPort: number;
  readonly version: 2 | 3;
  readonly openEvery: number;
  readonly reconnectMs: readonly [number, number];
  readonly keepAliveMs: number;
  readonly returnTimeoutMs: readonly [number, number];
  readonly returnSends: number;
  readonly deadlines: Deadlines;
  readonly knowledge: MasterKnowledge;
  readonly logIns: LogIns;
  readonly requests: SealedRequests;
  readonly publications: Publications;
  readonly counts: SwarmCounts;
  readonly ledger: Ledger | undefined;
}

/** Counts of zero. */
export function noCounts(): SwarmCounts {
  return {
    connected: 0,
    subscriptionsLost: 0,
    logIns: 0,
    logInsFailed: 0,
    publications: 0,
    badPublications: 0,
    returnsSent: 0,
    returnsAcknowledged: 0,
    returnsLost: 0,
    returnsDropped: 0,
    resends: 0,
    hostileSent: 0,
    badReplies: 0,
    repliesOpened: 0,
  };
}

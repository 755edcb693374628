import type { RequestOutcome, RequestSenderStats, RequestToSend } from '@brine/bus/rpc';
import type { ClaimedAs } from '@brine/master-state';
import type { SpanRecord } from '@brine/telemetry';
import type { ZmqPeer, ZmqRequest } from '@brine/zmq';

/** Workers, as the gateway needs them: `RequestSender` of the bus. */
export interface Workers {
  /** True if a worker takes requests. */
  readonly ready: boolean;
  /** True if a worker is there, or was recently, so that it or its successor is expected. */
  readonly expected: boolean;
  send(request: RequestToSend): Promise<RequestOutcome>;
  stats(): RequestSenderStats;
}

/** Peers, as the gateway needs them: `RequestServer`. */
export interface Peers extends AsyncIterable<ZmqRequest> {
  /** False if the peer is gone. */
  reply(peer: ZmqPeer, body: Uint8Array): boolean;
}

/** Remembers the ids of unanswered publish requests beyond the life of a gateway. */
export interface RequestMemory {
  /** The id to send these bytes under. Rejects if no worker answers within `waitMs`. */
  claim(hash: string, id: string, as: ClaimedAs, waitMs: number): Promise<string>;
  /**
   * Records an answer to the request of this id. For `keptMs` its CLI may ask again, here or at
   * another gateway. Rejects as `claim`.
   */
  answered(hash: string, id: string, keptMs: number): Promise<void>;
  /** Records at the end of a gateway that all peers got the answer. Rejects as `claim`. */
  delivered(hash: string, id: string): Promise<void>;
}

/** Takes spans: `Telemetry`. */
export interface Spans {
  recordSpan(record: SpanRecord): void;
}

/** The peer that gets the answer. */
export type Asker = Pick<ZmqRequest, 'peer'>;

/** The address of a request, for workers; empty if the peer has hung up. */
export function addressOf({ peer }: Asker): { readonly peer?: string } {
  return peer.address === '' ? {} : { peer: peer.address };
}

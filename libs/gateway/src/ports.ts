import type { RequestOutcome, RequestSenderStats, RequestToSend } from '@brine/bus/rpc';
import type { ClaimedAs } from '@brine/master-state';
import type { SpanRecord } from '@brine/telemetry';
import type { ZmqPeer, ZmqRequest } from '@brine/zmq';

/** Workers, as the gateway needs them: `RequestSender` of the bus. */
export interface Workers {
  /** Whether one is there that takes requests. */
  readonly ready: boolean;
  /** Whether one is there, or was so lately that it, or its successor, is to come. */
  readonly expected: boolean;
  send(request: RequestToSend): Promise<RequestOutcome>;
  stats(): RequestSenderStats;
}

/** Peers, as the gateway needs them: `RequestServer`. */
export interface Peers extends AsyncIterable<ZmqRequest> {
  /** False if the peer is gone. */
  reply(peer: ZmqPeer, body: Uint8Array): boolean;
}

/** What remembers the ids of unanswered publish requests beyond the life of a gateway. */
export interface RequestMemory {
  /** The id to send these bytes under. Rejects if no worker answers within `waitMs`. */
  claim(hash: string, id: string, as: ClaimedAs, waitMs: number): Promise<string>;
  /**
   * The request of this id was answered. For `keptMs` its CLI may ask again, here or at another
   * gateway. Rejects as `claim`.
   */
  answered(hash: string, id: string, keptMs: number): Promise<void>;
  /** All peers that asked heard the answer; said when a gateway ends. Rejects as `claim`. */
  heard(hash: string, id: string): Promise<void>;
}

/** Where spans go: `Telemetry`. */
export interface Spans {
  recordSpan(record: SpanRecord): void;
}

/** The peer that gets the answer. */
export type Asker = Pick<ZmqRequest, 'peer'>;

/** The address that a request came from, for workers; none where the peer has hung up. */
export function addressOf({ peer }: Asker): { readonly peer?: string } {
  return peer.address === '' ? {} : { peer: peer.address };
}

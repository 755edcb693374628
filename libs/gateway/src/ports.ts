import type { RequestOutcome, RequestSenderStats, RequestToSend } from '@brine/bus/rpc';
import type { SpanRecord } from '@brine/telemetry';
import type { ZmqPeer, ZmqRequest } from '@brine/zmq';

/** Workers, as the gateway needs them: `RequestSender` of the bus. */
export interface Workers {
  readonly ready: boolean;
  send(request: RequestToSend): Promise<RequestOutcome>;
  stats(): RequestSenderStats;
}

/** Peers, as the gateway needs them: `RequestServer`. */
export interface Peers extends AsyncIterable<ZmqRequest> {
  /** False where nobody is there any more to take it. */
  reply(peer: ZmqPeer, body: Uint8Array): boolean;
}

/** Who remembers the ids of unanswered publish requests over the life of a gateway. */
export interface RequestMemory {
  /** The id to send these bytes under. Rejects when nobody can be asked. */
  claim(hash: string, id: string): Promise<string>;
  /** The request of this id was answered. Rejects when nobody can be told. */
  answered(hash: string, id: string): Promise<void>;
  /** The answer was heard by all who asked; told when a gateway ends. Rejects as `answered`. */
  heard(hash: string, id: string): Promise<void>;
}

/** Where spans go: `Telemetry`. */
export interface Spans {
  recordSpan(record: SpanRecord): void;
}

/** Who gets the answer. */
export type Asker = Pick<ZmqRequest, 'peer'>;

/** The address that a request came from, for workers; none where the peer has hung up. */
export function addressOf({ peer }: Asker): { readonly peer?: string } {
  return peer.address === '' ? {} : { peer: peer.address };
}

import type { Aside } from '../streams/asides.ts';
import type { ServiceName } from '../subjects/names.ts';

/** How to reach the server, and as whom. */
export interface BusOptions {
  /**
   * `tls://host:port`, or on loopback `nats://user:password@host:port`; several joined by commas.
   */
  readonly url: string;
  /** With TLS: where the directory of each service is with its certificate, as `brine pki` does. */
  readonly certificates?: string;
  /** Lets a server beyond loopback be reached without TLS. */
  readonly plain?: boolean;
  /** Which service connects; it decides the inbox it may listen on. */
  readonly name: ServiceName;
  readonly user?: string;
  readonly password?: string;
  /** How long to wait for a server at first, in ms; default 30,000. Afterwards: for ever. */
  readonly connectTimeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Told of the first messages of each stream that a reader goes on without. */
  readonly onAside?: (aside: Aside) => void;
}

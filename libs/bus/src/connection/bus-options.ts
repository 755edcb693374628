import type { Aside } from '../streams/asides.ts';
import type { ServiceName } from '../subjects/names.ts';

/** The options of a service's connection, and its user. */
export interface BusOptions {
  /**
   * `tls://host:port`, or on loopback `nats://user:password@host:port`; several joined by commas.
   */
  readonly url: string;
  /** With TLS: where the directory of each service is with its certificate, as `brine pki` does. */
  readonly certificates?: string;
  /** Lets a server beyond loopback be reached without TLS. */
  readonly plain?: boolean;
  /** The service that connects; its inbox follows from this name. */
  readonly name: ServiceName;
  readonly user?: string;
  readonly password?: string;
  /** How long to wait for the first connection, in ms; default 30,000. Reconnects have no end. */
  readonly connectTimeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called for the first messages of each stream that a reader skips. */
  readonly onQuarantined?: (aside: Aside) => void;
}

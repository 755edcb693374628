import type { RequestClass } from '../subjects/names.ts';

/** A request as a worker gets it. */
export interface IncomingRequest {
  /** The same for every try of one request. */
  readonly id: string;
  readonly class: RequestClass;
  readonly body: Uint8Array;
  /** The peer's address as the gateway saw it. */
  readonly peer: string | undefined;
  readonly gatewayHost: string;
  /** When the gateway had it, in ms since 1970; undefined where it did not say. */
  readonly receivedMs: number | undefined;
  /** In ms since 1970. */
  readonly deadlineMs: number;
  /**
   * Asks the gateway that nobody else be tried from here on, for work that leaves traces outside of
   * the streams (runners, wheels, tokens). False: somebody else has it, or the gateway is silent;
   * then the work must not be done.
   */
  readonly takeOnce: () => Promise<boolean>;
  /**
   * Gives its place to the next one of its class, and goes on: for a wait whose length others
   * choose. Whoever calls this has to bound such waits.
   */
  readonly stepAside: () => void;
}

/** What a worker makes of a request; `drop`: no answer is sent. `trace`: its note, opaque here. */
export type Answer =
  | { readonly kind: 'reply'; readonly body: Uint8Array; readonly trace?: string }
  | { readonly kind: 'drop' };

/** Answers one request. */
export type RequestHandler = (request: IncomingRequest) => Promise<Answer>;

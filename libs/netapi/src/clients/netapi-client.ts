import { createHash } from 'node:crypto';
import { type ClientPorts, type ClientSettings, LocalClient } from '@brine/client';
import { JidMaker } from '@brine/job';
import { nowMs } from '@brine/telemetry';
import type { SaltMap, SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { LiveEvents } from '../live/live-events.ts';
import { FunctionCalls } from './functions.ts';
import { LocalCalls, type MinionAnswers } from './local.ts';
import { credentialsOf, type Low } from './low.ts';
import type { AskedBy, MasterRequests } from './master-requests.ts';

/** Who calls, beside the credentials of the call. */
export interface ApiPeer {
  readonly address: string;
  /** W3C trace context that the peer gave; becomes a link in the trace of its jobs. */
  readonly traceparent?: string | undefined;
}

/** The result of a call. */
export type CallResult =
  | { readonly kind: 'value'; readonly value: SaltValue }
  /** One map of all minions. */
  | ({ readonly kind: 'minions' } & MinionAnswers)
  /** A map for each minion: of a batch. */
  | ({ readonly kind: 'each' } & MinionAnswers);

/** What calls are made with. */
export interface NetapiClientParts {
  readonly requests: MasterRequests;
  readonly live: Pick<LiveEvents, 'listen'>;
  /** For the loads of jobs. */
  readonly settings: ClientSettings;
  /** `brine.http_silent_minions`. */
  readonly silentText: boolean;
  /** Salt: `rest_timeout`, in seconds. */
  readonly restTimeoutS: number;
  readonly onTrouble: (text: string, error: unknown) => void;
}

/** Runs the calls of lowstates (salt/netapi/__init__.py NetapiClient). */
export class NetapiClient {
  readonly #parts: NetapiClientParts;
  readonly #functions: FunctionCalls;
  readonly #jids = new JidMaker();

  constructor(parts: NetapiClientParts) {
    this.#parts = parts;
    this.#functions = new FunctionCalls(parts.requests, parts.live, parts.restTimeoutS);
  }

  /**
   * Runs one call for a peer.
   * @throws NetapiError, UnexpectedError
   */
  async run({ client, chunk }: Low, { address, traceparent }: ApiPeer): Promise<CallResult> {
    const by = { asker: askerOf(chunk), peer: address, traceparent };
    switch (client) {
      case 'local_async':
        return valueOf(await this.#local(by).start(chunk));
      case 'local':
        return minionsOf(await this.#local(by).run(chunk));
      case 'local_subset':
        return minionsOf(await this.#local(by).runSubset(chunk));
      case 'local_batch':
        return { kind: 'each', ...(await this.#local(by).runBatch(chunk)) };
      case 'runner':
        return valueOf(await this.#functions.run(chunk, by));
      case 'runner_async':
        return valueOf(await this.#functions.start(chunk, by));
      case 'wheel':
        return valueOf(await this.#functions.wheel(chunk, by));
      case 'wheel_async':
        return valueOf(await this.#functions.startWheel(chunk, by));
    }
  }

  #local({ traceparent, ...by }: AskedBy & Pick<ApiPeer, 'traceparent'>): LocalCalls {
    const { requests, live, settings, silentText, onTrouble } = this.#parts;
    // Tries of one load are one request.
    const ids = new WeakMap<Uint8Array, string>();
    const ports: ClientPorts = {
      request: {
        request: (body, { requestId }) => {
          const id = requestId ?? ids.get(body) ?? requests.newId();
          ids.set(body, id);
          return requests.publish(body, by, id);
        },
      },
      events: {
        listen: (onEvent) => live.listen(({ tag, packed }) => onEvent(tag, packed)),
      },
      // A token or a log-in proves the caller; http-api has no key of its own.
      master: { isPresent: () => true, readKey: async () => '' },
      logError: (text) => onTrouble(text, undefined),
    };
    const client = new LocalClient(ports, {
      ...settings,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    return new LocalCalls(
      client,
      { silentText },
      { newId: () => requests.newId(), newJid: () => this.#jids.next(nowMs()) },
    );
  }
}

function valueOf(value: SaltValue): CallResult {
  return { kind: 'value', value };
}

function minionsOf(found: MinionAnswers | undefined): CallResult {
  return found === undefined ? valueOf(new Map()) : { kind: 'minions', ...found };
}

/** Names a caller by its proof, without revealing it. */
function askerOf(chunk: SaltMap): string {
  const hash = createHash('sha256');
  for (const [name, value] of credentialsOf(chunk)) {
    hash.update(`${pyStr(name)}=${typeof value === 'string' ? value : ''}\n`);
  }
  return hash.digest('base64url');
}

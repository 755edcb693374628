import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, handleEach } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { type ClientPorts, type ClientSettings, LocalClient, parseArguments } from '@brine/client';
import { type MasterOptions, nodegroupsOf, optionsByName } from '@brine/config';
import { EVENT_KINDS, type EventKind } from '@brine/job';
import type {
  Answerer,
  FunctionCall,
  FunctionOutcome,
  MasterFunctions,
  MasterPorts,
} from '@brine/master';
import {
  callFunction,
  isKnown,
  type MasterContext,
  type RowSeal,
  runFunction,
  type RunnerMaster,
  runnerNamed,
} from '@brine/runners';
import { isMap, mapOf, pack, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { YamlWork } from '@brine/yaml';

/** What the functions of a worker work with. */
export interface FunctionsOptions {
  readonly bus: Bus;
  readonly options: MasterOptions;
  /** Answers a request as this worker answers those of gateways. */
  readonly answer: (body: Uint8Array) => Promise<Uint8Array>;
  readonly auditSeal: RowSeal;
  /** The key of the master's own user. */
  readonly ownKey: () => string;
  readonly onTrouble: (text: string, err: unknown) => void;
  /** The ports of requests; made after this. */
  readonly ports: () => MasterPorts;
  readonly pillarTop: RunnerMaster['pillarTop'];
}

/** How long a runner that needs returns waits for the stream, and how often it looks, in ms. */
const LISTEN_WAIT_MS = 5_000;
const LISTEN_LOOK_MS = 10;

/** What a client needs to gather returns, and what the sockets of a host show. */
const CLIENT_KINDS = ['ret', 'job', 'syndic'] as const;
const BUS_KINDS = EVENT_KINDS.filter((kind) => kind !== 'sighting' && kind !== 'audit');

/**
 * Runs the functions of the table inside a worker, as the master's own user. This worker answers
 * their requests without a socket; returns come from the stream of events.
 */
export class WorkerFunctions implements MasterFunctions {
  readonly #options: FunctionsOptions;
  readonly #named: SaltMap;
  #running = 0;

  constructor(options: FunctionsOptions) {
    this.#options = options;
    this.#named = optionsByName(options.options);
  }

  running(): number {
    return this.#running;
  }

  inBackground(work: () => Promise<void>): void {
    this.#running += 1;
    work()
      .catch((err: unknown) => this.#options.onTrouble('a runner was cut off', err))
      .finally(() => (this.#running -= 1));
  }

  knows(kind: FunctionCall['kind'], fun: string): boolean {
    return isKnown(kind, fun);
  }

  async run(call: FunctionCall): Promise<FunctionOutcome> {
    const client = this.#client(call);
    try {
      return await callFunction(call, this.#context(call, client));
    } finally {
      await client.close();
    }
  }

  #context(call: FunctionCall, client: LocalClient): MasterContext {
    const { auditSeal, options, ports, pillarTop } = this.#options;
    const fire = (tag: string, data: SaltMap): Promise<void> => this.#fire(tag, data);
    const tag = `salt/${call.kind === 'runner' ? 'run' : 'wheel'}/${call.jid}`;
    const context: MasterContext = {
      client,
      auditSeal: () => Promise.resolve(auditSeal),
      out: (text) => {
        // The text is for a terminal; the result does not wait for it.
        fire(`${tag}/progress`, mapOf({ data: text, outputter: 'text' })).catch((err: unknown) =>
          this.#options.onTrouble('what a runner printed was lost', err),
        );
      },
      master: {
        ...ports(),
        call,
        masterMinionId: options.masterId,
        option: (name) => this.#named.get(name),
        pillarTop,
        fire,
        listen: (onEvent) =>
          this.#listen((eventTag, fetched) =>
            onEvent(eventTag, async () => {
              const data = unpack(await fetched());
              return isMap(data) ? data : mapOf({});
            }),
          ),
        run: (fun, given) => {
          const found = runnerNamed(fun);
          if (found === undefined) throw new Error(`'${fun}' is not available.`);
          return runFunction(found, given, context);
        },
      },
    };
    return context;
  }

  async #fire(tag: string, data: SaltMap): Promise<void> {
    const body = pack(data);
    await this.#options.ports().events.append({ kind: 'local', tag, body, msgId: randomUUID() });
  }

  #client(call: FunctionCall): LocalClient {
    const { options, answer, ownKey, onTrouble } = this.#options;
    const ports: ClientPorts = {
      request: { request: (body) => answer(body) },
      events: {
        listen: (onEvent) =>
          this.#listen(async (tag, fetched) => onEvent(tag, await fetched()), CLIENT_KINDS),
      },
      master: { isPresent: () => true, readKey: async () => ownKey() },
      logError: (text) => onTrouble(text, undefined),
    };
    return new LocalClient(ports, settingsFor(options, call));
  }

  /** Hands over all events but log-ins and rows for the store, until closed. */
  async #listen(
    onEvent: (tag: string, fetch: () => Promise<Uint8Array>) => Promise<void> | void,
    kinds: readonly EventKind[] = BUS_KINDS,
  ): Promise<{ close(): void }> {
    const reader = new EventReader(this.#options.bus, { kinds });
    handleEach(reader, async (event) => onEvent(event.tag, () => event.fetch())).catch(
      (err: unknown) => this.#options.onTrouble('events were not read', err),
    );
    const untilMs = Date.now() + LISTEN_WAIT_MS;
    // A job that is published before the reader reads would miss returns.
    while (!reader.reading) {
      if (Date.now() > untilMs) {
        reader.close();
        throw new Error('the stream of events is away');
      }
      await sleep(LISTEN_LOOK_MS);
    }
    return { close: () => reader.close() };
  }
}

/**
 * How a runner publishes. For a caller other than the master's own user it publishes as a user of a
 * master above that may run anything. Its targets are then judged as its own and reveal no pillar.
 */
export function settingsFor(
  options: MasterOptions,
  { limited }: Pick<FunctionCall, 'limited'>,
): ClientSettings {
  return {
    user: options.user,
    nodegroups: new Map(Object.entries(nodegroupsOf(options.nodegroups))),
    configFile: options.confFile,
    timeoutMs: options.timeout * 1000,
    gatherJobTimeoutMs: options.gatherJobTimeout * 1000,
    orderMasters: options.orderMasters,
    syndicWaitMs: options.syndicWait * 1000,
    sockDir: options.sockDir,
    ...(limited === true ? { authList: ['.*'] } : {}),
    ...(options.orderMasters ? { orderMastersTimeout: options.timeout } : {}),
  };
}

/** Answers a request of this process itself, as if a gateway of this host had brought it. */
export async function answerHere(
  answerer: Answerer,
  body: Uint8Array,
  gatewayHost: string,
): Promise<Uint8Array> {
  const request = { id: randomUUID(), body, gatewayHost, receivedMs: Date.now() };
  const answer = await answerer.answer(request);
  if (answer.kind === 'drop') throw new Error('the master could not answer itself');
  return answer.body;
}

/**
 * The arguments of a job that a minion publishes: texts as on a command line, `name=value` and
 * maps with `__kwarg__` gathered in one map at the end (Salt: salt/utils/args.py parse_input).
 * @throws YamlWorkError for more of them than a peer may have read
 */
export function peerArguments(
  args: readonly SaltValue[],
  noParse: readonly SaltValue[],
): SaltValue[] {
  const texts = new Set(noParse.filter((name) => typeof name === 'string'));
  const work = YamlWork.ofPeer();
  const list: SaltValue[] = [];
  const keywords: SaltMap = new Map();
  for (const arg of args) {
    const parsed = typeof arg === 'string' ? (parseArguments([arg], texts, work)[0] ?? null) : arg;
    if (!isMap(parsed) || parsed.get('__kwarg__') !== true) list.push(parsed);
    else for (const [name, value] of parsed) keywords.set(name, value);
  }
  return keywords.size === 0 ? list : [...list, keywords];
}

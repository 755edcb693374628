import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, handleEach } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import {
  callRunner,
  type ClientPorts,
  type ClientSettings,
  LocalClient,
  parseArguments,
  type RowSeal,
  type RunnerFunction,
  type RunnerMaster,
  RUNNERS,
} from '@brine/client';
import { type MasterOptions, nodegroupsOf } from '@brine/config';
import type {
  Answerer,
  FunctionCall,
  FunctionOutcome,
  MasterFunctions,
  MinionData,
} from '@brine/master';
import type { ThreadedPillars } from '@brine/pillar-compiler';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { YamlWork } from '@brine/yaml';

/** What the runners of a worker work with. */
export interface RunnersOptions {
  readonly bus: Bus;
  readonly options: MasterOptions;
  /** Answers a request as this worker answers those of gateways. */
  readonly answer: (body: Uint8Array) => Promise<Uint8Array>;
  readonly auditSeal: RowSeal;
  /** The key of the master's own user. */
  readonly ownKey: () => string;
  readonly onTrouble: (text: string, err: unknown) => void;
  readonly master: RunnerMaster;
}

/** How long a runner that needs returns waits for the stream, and how often it looks, in ms. */
const LISTEN_WAIT_MS = 5_000;
const LISTEN_LOOK_MS = 10;

/** By their names; a name that comes over the wire is looked up here and nowhere else. */
const FUNCTIONS: ReadonlyMap<string, RunnerFunction> = new Map(
  RUNNERS.map((fun) => [fun.name, fun]),
);

/**
 * Runs the runners of `brine run` inside a worker, as the master's own user. This worker answers
 * their requests without a socket; returns come from the stream of events.
 */
export class WorkerRunners implements MasterFunctions {
  readonly #options: RunnersOptions;
  #running = 0;

  constructor(options: RunnersOptions) {
    this.#options = options;
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

  knows(fun: string): boolean {
    return FUNCTIONS.has(fun);
  }

  async run(call: FunctionCall): Promise<FunctionOutcome> {
    const client = this.#client(call);
    const auditSeal = (): Promise<RowSeal> => Promise.resolve(this.#options.auditSeal);
    try {
      const master = this.#options.master;
      return await callRunner(FUNCTIONS.get(call.fun), call, { client, auditSeal, master });
    } finally {
      await client.close();
    }
  }

  #client(call: FunctionCall): LocalClient {
    const { options, answer, ownKey, onTrouble } = this.#options;
    const ports: ClientPorts = {
      request: { request: (body) => answer(body) },
      events: { listen: (onEvent) => this.#listen(onEvent) },
      master: { isPresent: () => true, readKey: async () => ownKey() },
      logError: (text) => onTrouble(text, undefined),
    };
    return new LocalClient(ports, settingsFor(options, call));
  }

  async #listen(onEvent: (tag: string, packed: Uint8Array) => void): Promise<{ close(): void }> {
    const reader = new EventReader(this.#options.bus, { kinds: ['ret', 'job', 'syndic'] });
    handleEach(reader, async (event) => onEvent(event.tag, await event.fetch())).catch(
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

/** What runners may ask of the worker that they run in. */
export function runnerMaster(pillars: ThreadedPillars, minionData: MinionData): RunnerMaster {
  return {
    grains: async (id) => (id === '' ? undefined : (await minionData.fetch(id))?.grains),
    pillar: (asked) => pillars.render(asked),
    pillarTop: (asked) => pillars.top(asked),
  };
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

import { randomUUID } from 'node:crypto';
import type { Bus } from '@brine/bus';
import { isPosition, Timeline } from '@brine/bus/timeline';
import type { ClusterTask, StoredRun } from '@brine/cluster-work';
import { saltValue } from '@brine/config';
import {
  type EngineFeed,
  type EnginePorts,
  type EngineRecord,
  type EngineSpec,
  type EngineStatus,
  plainOf,
  readEngines,
  type RecordKeeper,
  refusedStatus,
  saltMap,
  saltOf,
  SupervisedEngine,
} from '@brine/engines';
import type { FunctionCall, LocalFunctions, MasterPorts } from '@brine/master';
import { runBetweenEvents } from '@brine/master/functions';
import { PythonEngine } from '@brine/python-host';
import type { Metrics, ServiceContext } from '@brine/service';
import { isName, mapOf, pack, type SaltMap, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

export interface EnginesParts {
  readonly bus: Bus;
  readonly context: Pick<ServiceContext, 'options' | 'metrics' | 'log'>;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  /** The functions of this process. */
  readonly local: LocalFunctions;
}

/** The engines of this process, and the names of those of others. */
export interface Engines {
  /** One task per engine: one process of the cluster, or of its host, runs it. */
  readonly tasks: readonly ClusterTask[];
  status(): readonly EngineStatus[];
  /** Stops the engines here; other processes start them once their runs are released. */
  leave(): Promise<void>;
}

/** Limit of messages of each stream that wait here for one engine. */
const READ_AHEAD = 200;

/** Opens the engines of a process. Each refused engine is logged once. */
export function openEngines(parts: EnginesParts): Engines {
  const { options, log, metrics } = parts.context;
  const { engines, faults } = readEngines(plainOf(saltValue(options.engines)), {
    hasPython: options.brine.python !== '',
    runsTypeScript: runsTypeScript(),
  });
  for (const { name, why } of faults) log.error(`engine ${name} does not run: ${why}`);
  const ports = portsOf(parts);
  const supervised = engines.map((spec) => {
    const startPython = (one: EngineSpec): PythonEngine => pythonEngine(one, parts.context);
    return new SupervisedEngine({ spec, ports, startPython });
  });
  const leaving = new AbortController();
  const running = new Set<Promise<void>>();
  expose(metrics, supervised);
  const work = async (engine: SupervisedEngine, run: StoredRun): Promise<void> => {
    const one = workOn(engine, run, leaving.signal).finally(() => running.delete(one));
    running.add(one);
    await one;
  };
  return {
    tasks: supervised.map((engine): ClusterTask => {
      const { name, where } = engine.spec;
      const place = where === 'host' ? `${name}@${options.brine.host}` : name;
      return { kind: `engine:${place}`, name: `engine-${place}`, work: (run) => work(engine, run) };
    }),
    status: () => [...supervised.map((engine) => engine.status()), ...faults.map(refusedStatus)],
    leave: async () => {
      leaving.abort();
      await Promise.all(running);
    },
  };
}

/** True if this Node runs modules in TypeScript directly. */
function runsTypeScript(): boolean {
  const { typescript } = process.features as { readonly typescript?: unknown };
  return typescript === 'strip' || typescript === 'transform';
}

/** Runs an engine until its run is released or the process leaves. */
async function workOn(
  engine: SupervisedEngine,
  run: StoredRun,
  leaving: AbortSignal,
): Promise<void> {
  const stop = AbortSignal.any([run.released, leaving]);
  let record = recordIn(run.data);
  const keeper: RecordKeeper = {
    get record() {
      return record;
    },
    keep: async (next) => {
      await run.save(recordMap(next));
      record = next;
    },
  };
  await engine.run(keeper, stop);
}

function recordMap({ position, saved }: EngineRecord): SaltMap {
  return mapOf({ position, saved: saved === null ? undefined : JSON.stringify(saved) });
}

function recordIn(data: SaltMap): EngineRecord {
  const position = textOf(data, 'position');
  const saved = textOf(data, 'saved');
  return {
    position: position !== undefined && isPosition(position) ? position : undefined,
    saved: saved === undefined ? null : (JSON.parse(saved) as EngineRecord['saved']),
  };
}

function portsOf({ bus, context, ports, local }: EnginesParts): EnginePorts {
  const { options, log } = context;
  return {
    masterId: options.id,
    openFeed: (fits, position) => openFeed(bus, fits, position),
    fire: async (tag, data, engine) => {
      // The tag may come from strangers who write to an engine.
      if (!isName('tag', tag)) throw new RangeError('a tag of an engine has invalid characters');
      const body = pack(data);
      const event = { kind: 'local', tag, body, msgId: randomUUID(), engine } as const;
      const append = (): Promise<unknown> => ports.events.append(event);
      await ports.inShare({ kind: 'engine', id: engine }, body.length, append);
    },
    call: async ({ kind, fun, args, kwargs }) => {
      if (!(await local.knows(kind, fun))) throw new Error(`'${fun}' is not available.`);
      const { user } = ports.rules;
      const call: FunctionCall = {
        kind,
        fun,
        jid: ports.nextJid(),
        user,
        principal: user,
        args: args.map((arg) => saltOf(arg)),
        kwargs: saltMap(kwargs),
      };
      const { value, success } = await runBetweenEvents(ports, local, call);
      if (!success) throw new Error(pyStr(value));
      return plainOf(value);
    },
    log: (level, text) => log[level](text),
  };
}

async function openFeed(
  bus: Bus,
  fits: (tag: string) => boolean,
  position: string | undefined,
): Promise<EngineFeed> {
  const timeline = await Timeline.open(bus, {
    from: position === undefined ? 'now' : { position },
    fits: ({ tag }) => fits(tag),
    readAhead: READ_AHEAD,
  });
  return {
    take: async (max, waitMs) => timeline.take(max, waitMs),
    get position() {
      return timeline.position;
    },
    takeNotices: () => timeline.takeNotices().map(({ text }) => text),
    close: () => timeline.close(),
  };
}

function pythonEngine(
  { name, module, options: given }: EngineSpec,
  { options, log }: Pick<ServiceContext, 'options' | 'log'>,
): PythonEngine {
  const { python, pythonMemory } = options.brine;
  const engine = { name: module.kind === 'python' ? module.name : name, options: given };
  const settings = { python, configFile: options.confFile, memoryBytes: pythonMemory };
  return new PythonEngine(settings, engine, (level, text) => log[level](`engine ${name}: ${text}`));
}

function expose(metrics: Metrics, engines: readonly SupervisedEngine[]): void {
  if (engines.length === 0) return;
  const all = (): readonly EngineStatus[] => engines.map((engine) => engine.status());
  metrics.gaugeOf('brine_engine_running', 'Engines that run in this worker.', () =>
    all().map(({ name, state }) => ({
      labels: { engine: name },
      value: state === 'running' ? 1 : 0,
    })),
  );
  metrics.gaugeOf('brine_engine_in_hand', 'Events that an engine is not done with.', () =>
    all().map(({ name, inHand }) => ({ labels: { engine: name }, value: inHand })),
  );
  metrics.counterOf('brine_engine_restarts_total', 'Engines that were started again.', () =>
    all().map(({ name, restarts }) => ({ labels: { engine: name }, value: restarts })),
  );
  const kinds = ['sent', 'done', 'lost', 'fired'] as const;
  metrics.counterOf('brine_engine_events_total', 'Events of engines, by what became of them.', () =>
    all().flatMap((status) =>
      kinds.map((what) => ({ labels: { engine: status.name, what }, value: status[what] })),
    ),
  );
}

import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { OPTIONS, type SwarmArguments, USAGE } from './command/arguments.ts';
import { drawResults, isComplete, type StepResult } from './command/report.ts';
import { readScenario } from './command/scenario.ts';
import { readArguments, runTool, UsageError } from './options/index.ts';
import { Swarm } from './swarm.ts';

/** Inputs of a step. */
interface Run {
  readonly swarm: Swarm;
  readonly asked: SwarmArguments;
  readonly cachedir: string;
}

type Step = (run: Run) => Promise<StepResult | undefined>;

const STEPS: ReadonlyMap<string, Step> = new Map<string, Step>([
  [
    'connect',
    async ({ swarm, asked: { inFlight } }) => {
      const load = await swarm.connect(inFlight === undefined ? {} : { inFlight });
      return { step: 'connect', load };
    },
  ],
  [
    'log-in',
    async ({ swarm, asked }) => ({ step: 'log-in', load: await swarm.logIn(loop(asked)) }),
  ],
  [
    'publish',
    async (run) => {
      const waitMs = 1000 * run.asked.wait;
      return { step: 'publish', job: await run.swarm.publish({ ...job(run), waitMs }) };
    },
  ],
  [
    'publishes',
    async (run) => {
      const load = await run.swarm.publishes({ ...job(run), ...loop(run.asked) });
      return { step: 'publishes', load };
    },
  ],
  [
    'returns',
    async ({ swarm, asked }) => {
      const bytes = asked.bytes === undefined ? {} : { returnBytes: asked.bytes };
      const load = await swarm.returns({
        ...loop(asked),
        ...bytes,
        jids: asked.jids?.split(',') ?? [],
      });
      return { step: 'returns', load };
    },
  ],
  [
    'events',
    async ({ swarm, asked }) => {
      const bytes = asked.bytes === undefined ? {} : { dataBytes: asked.bytes };
      return { step: 'events', load: await swarm.events({ ...loop(asked), ...bytes }) };
    },
  ],
  [
    'stay',
    async () => {
      process.stderr.write('connected; Ctrl-C ends it\n');
      await new Promise<void>((resolve) => {
        process.once('SIGINT', () => resolve());
        process.once('SIGTERM', () => resolve());
      });
      return undefined;
    },
  ],
]);

async function main(args: readonly string[]): Promise<number> {
  const { asked, words: steps } = readArguments(args, OPTIONS);
  const unknown = steps.filter((name) => !STEPS.has(name));
  if (unknown.length > 0) throw new UsageError(`no such step: ${unknown.join(', ')}`);
  if (steps.length === 0) throw new UsageError('at least one step is needed');
  const { options } = loadMasterConfig({ configDir: asked.configDir });
  const swarm = await startSwarm(asked, options);
  try {
    return await perform({ swarm, asked, cachedir: options.cachedir }, steps);
  } finally {
    await swarm.close();
  }
}

async function startSwarm(asked: SwarmArguments, options: MasterOptions): Promise<Swarm> {
  const { publishPort, keyPairs, log } = asked;
  const behaviours = asked.scenario === undefined ? [] : await readScenario(asked.scenario);
  return Swarm.start({
    host: asked.host,
    retPort: asked.port ?? options.retPort,
    minions: asked.minions,
    processes: asked.processes,
    payloadVersion: asked.payloadVersion,
    keyBits: asked.keyBits,
    idPrefix: asked.prefix,
    firstIndex: asked.first,
    openEvery: asked.openEvery,
    behaviours,
    ...(publishPort === undefined ? {} : { publishPort }),
    ...(keyPairs === undefined ? {} : { keyPairs }),
    ...(log === undefined ? {} : { log }),
    ...(asked.preAccept ? { pkiDir: options.pkiDir } : {}),
    onProgress: (line) => void process.stderr.write(`${line}\n`),
  });
}

async function perform(run: Run, steps: readonly string[]): Promise<number> {
  const results: StepResult[] = [];
  for (const name of steps) {
    const result = await STEPS.get(name)?.(run);
    if (result !== undefined) results.push(result);
  }
  if (run.asked.json) {
    const document = { results, stats: await run.swarm.stats() };
    process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  } else process.stdout.write(drawResults(results));
  return results.every(isComplete) ? 0 : 1;
}

function loop({ count, duration, rate, inFlight }: SwarmArguments) {
  return {
    inFlight: inFlight ?? 64,
    ...(count === undefined ? {} : { count }),
    ...(duration === undefined ? {} : { durationMs: duration * 1000 }),
    ...(rate === undefined ? {} : { ratePerSecond: rate }),
  };
}

function job({ asked, cachedir }: Run) {
  const { user, target, targetType, fun, arg } = asked;
  return {
    cachedir,
    user,
    target: targetType === 'list' ? target.split(',') : target,
    targetType,
    fun,
    arg: arg === undefined ? [] : [arg],
  };
}

await runTool({ name: 'swarm', usage: USAGE, run: main });

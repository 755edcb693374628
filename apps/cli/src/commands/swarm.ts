import { keepInspectorShut } from '@brine/service';
import { Swarm, drawResults, isComplete, readScenario, type StepResult } from '@brine/swarm';
import { EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { isOn, numberValue, textValue, type ParsedOptions } from '../options/option.ts';
import { OptionParser } from '../options/parser.ts';
import type { Terminal } from '../terminal.ts';
import { SWARM_FORM } from './swarm-form.ts';

/** What a step needs. */
interface Run {
  readonly swarm: Swarm;
  readonly options: ParsedOptions;
  readonly cachedir: string;
  readonly user: string;
  readonly terminal: Terminal;
}

type Step = (run: Run) => Promise<StepResult | undefined>;

const STEPS: ReadonlyMap<string, Step> = new Map<string, Step>([
  [
    'connect',
    async ({ swarm, options }) => {
      const inFlight = numberValue(options, 'in_flight');
      const load = await swarm.connect(inFlight === undefined ? {} : { inFlight });
      return { step: 'connect', load };
    },
  ],
  [
    'log-in',
    async ({ swarm, options }) => ({ step: 'log-in', load: await swarm.logIn(loop(options)) }),
  ],
  [
    'publish',
    async (run) => {
      const waitMs = 1000 * (numberValue(run.options, 'wait') ?? 30);
      return { step: 'publish', job: await run.swarm.publish({ ...job(run), waitMs }) };
    },
  ],
  [
    'publishes',
    async (run) => {
      const load = await run.swarm.publishes({ ...job(run), ...loop(run.options) });
      return { step: 'publishes', load };
    },
  ],
  [
    'returns',
    async ({ swarm, options }) => {
      const returnBytes = numberValue(options, 'bytes');
      const jids = textValue(options, 'jids')?.split(',') ?? [];
      const bytes = returnBytes === undefined ? {} : { returnBytes };
      return {
        step: 'returns',
        load: await swarm.returns({ ...loop(options), ...bytes, jids }),
      };
    },
  ],
  [
    'events',
    async ({ swarm, options }) => {
      const dataBytes = numberValue(options, 'bytes');
      const bytes = dataBytes === undefined ? {} : { dataBytes };
      return { step: 'events', load: await swarm.events({ ...loop(options), ...bytes }) };
    },
  ],
  [
    'stay',
    async ({ terminal }) => {
      terminal.err('connected; Ctrl-C ends it\n');
      await new Promise<void>((resolve) => {
        process.once('SIGINT', () => resolve());
        process.once('SIGTERM', () => resolve());
      });
      return undefined;
    },
  ],
]);

/** `brine swarm`: simulated minions at a master. Exit code 0 where every step was complete. */
export async function runSwarm(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(SWARM_FORM);
  const options = parser.parse(args);
  keepInspectorShut();
  const unknown = options.args.filter((name) => !STEPS.has(name));
  if (unknown.length > 0) throw parser.error(`no such step: ${unknown.join(', ')}`);
  if (options.args.length === 0) throw parser.error('at least one step is needed');
  const scenario = textValue(options, 'scenario');
  const config = readMasterConfig(options, terminal);
  const behaviours = scenario === undefined ? [] : await readScenario(scenario);
  const log = textValue(options, 'log');
  const publishPort = numberValue(options, 'publish_port');
  const keyPairs = numberValue(options, 'key_pairs');
  const swarm = await Swarm.start({
    host: textValue(options, 'host') ?? '127.0.0.1',
    retPort: numberValue(options, 'port') ?? config.retPort,
    minions: numberValue(options, 'minions') ?? 100,
    processes: numberValue(options, 'processes') ?? 1,
    payloadVersion: textValue(options, 'payload_version') === '2' ? 2 : 3,
    keyBits: textValue(options, 'key_bits') === '4096' ? 4096 : 2048,
    idPrefix: textValue(options, 'prefix') ?? 'swarm-',
    firstIndex: numberValue(options, 'first') ?? 0,
    openEvery: numberValue(options, 'open_every') ?? 20,
    behaviours,
    ...(publishPort === undefined ? {} : { publishPort }),
    ...(keyPairs === undefined ? {} : { keyPairs }),
    ...(log === undefined ? {} : { log }),
    ...(isOn(options, 'pre_accept') ? { pkiDir: config.pkiDir } : {}),
    onProgress: (line) => terminal.err(`${line}\n`),
  });
  try {
    const { cachedir } = config;
    const user = textValue(options, 'user') ?? 'root';
    return await perform({ swarm, options, cachedir, user, terminal });
  } finally {
    await swarm.close();
  }
}

async function perform(run: Run): Promise<number> {
  const results: StepResult[] = [];
  for (const name of run.options.args) {
    const result = await STEPS.get(name)?.(run);
    if (result !== undefined) results.push(result);
  }
  const { terminal, swarm, options } = run;
  if (isOn(options, 'json')) {
    const document = { results, stats: await swarm.stats() };
    terminal.out(`${JSON.stringify(document, null, 2)}\n`);
  } else terminal.out(drawResults(results));
  return results.every(isComplete) ? EXIT.ok : EXIT.generic;
}

function loop(options: ParsedOptions) {
  const count = numberValue(options, 'count');
  const seconds = numberValue(options, 'duration');
  const ratePerSecond = numberValue(options, 'rate');
  return {
    inFlight: numberValue(options, 'in_flight') ?? 64,
    ...(count === undefined ? {} : { count }),
    ...(seconds === undefined ? {} : { durationMs: seconds * 1000 }),
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  };
}

function job({ options, cachedir, user }: Run) {
  const target = textValue(options, 'target') ?? '*';
  const targetType = textValue(options, 'target_type') ?? 'glob';
  const arg = textValue(options, 'arg');
  return {
    cachedir,
    user,
    target: targetType === 'list' ? target.split(',') : target,
    targetType,
    fun: textValue(options, 'fun') ?? 'test.ping',
    arg: arg === undefined ? [] : [arg],
  };
}

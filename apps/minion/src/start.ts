import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { MinionOptions } from '@brine/config';
import { ConfigError, loadMinionConfig, minionOptionsByName } from '@brine/config';
import type { FinishedJob } from '@brine/minion';
import { collectGrains, Minion, MinionError } from '@brine/minion';
import { MinionKeyFiles } from '@brine/pki';
import type { LogOutput } from '@brine/service';
import {
  EXIT_CONFIG,
  keepInspectorShut,
  LogFormatError,
  onStopSignal,
  openLogOutput,
  parseServiceArguments,
  Releasers,
} from '@brine/service';
import type { Telemetry } from '@brine/telemetry';
import { jobTraceId, newContext, nowMs, parseTraceparent, startTelemetry } from '@brine/telemetry';
import type { SaltMap } from '@brine/wire';
import { isMap, mapOf, SALT_RELEASE } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { masterAddress, MasterLink } from '@brine/zmq';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs a minion from its configuration to its end and returns the exit code. 0: after a signal. 77:
 * the master has rejected its key. 42: a master with another fingerprint. 78: an unusable
 * configuration.
 */
export async function runMinionProcess(argv: readonly string[], env: Environment): Promise<number> {
  const debug = keepInspectorShut();
  const args = parseServiceArguments(argv);
  let options: MinionOptions;
  let output: LogOutput;
  try {
    const { configDir } = args;
    const loaded = loadMinionConfig({ ...(configDir === undefined ? {} : { configDir }), env });
    options = { ...loaded.options, logLevel: args.logLevel ?? loaded.options.logLevel };
    const logTag = 'salt-minion';
    output = openLogOutput({ ...options, logTag }, print, (text) => print(`[WARNING ] ${text}\n`));
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof LogFormatError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT_CONFIG;
  }
  await using releasers = new Releasers();
  releasers.add(() => output.close());
  const source = { service: 'minion', pid: process.pid };
  const telemetry = await startTelemetry({
    service: source.service,
    options: telemetryOptions({ ...options, logLevel: output.levelOf(source.service) }, env),
    env,
    destination: { write: (line: string) => output.write(source, line.trimEnd()) },
  });
  releasers.add(() => telemetry.shutdown());
  debug.reportBy((text, facts) => telemetry.log.warn(facts, text));
  return await serve(options, telemetry, releasers);
}

function print(text: string): void {
  process.stderr.write(text);
}

async function serve(
  options: MinionOptions,
  telemetry: Telemetry,
  releasers: Releasers,
): Promise<number> {
  const { log } = telemetry;
  const stopping = new AbortController();
  onStopSignal((why) => stopping.abort(new Error(why)));
  const keys = new MinionKeyFiles(options.pkiDir);
  const { privateKey } = await keys.loadOrCreate(options.keysize);
  const [host = 'salt'] = options.master;
  const link = new MasterLink({
    ...masterAddress(host, options.masterPort),
    reconnectMs: options.reconDefault,
    reconnectMaxMs: options.reconMax,
    reconnectRandomize: options.reconRandomize,
  });
  releasers.add(() => link.close());
  const grains = mapFrom(options.grains);
  const minion = new Minion({
    settings: options,
    key: privateKey,
    masterKeyFile: keys,
    master: link,
    clock: { nowMs, random: Math.random, sleep: (ms, signal) => wait(ms, undefined, { signal }) },
    log,
    collectGrains: () =>
      collectGrains({ id: options.id, master: host, grains, saltVersion: SALT_RELEASE }),
    config: () => mapFrom(minionOptionsByName(options)),
    finished: (job) => recordJob(telemetry, options.id, job),
  });
  try {
    await minion.run(stopping.signal);
    return 0;
  } catch (error) {
    log.fatal({ err: error }, error instanceof Error ? error.message : 'failed');
    return error instanceof MinionError ? (error.exitCode ?? 1) : 1;
  }
}

function recordJob(telemetry: Telemetry, id: string, job: FinishedJob): void {
  const { jid, fun, startMs, endMs, success, link } = job;
  // The span joins its job's trace if the publication states that the trace is recorded. Otherwise
  // it begins a trace: the minion does not know which jobs the master samples. The jid relates the
  // two.
  const context = parseTraceparent(link);
  const joins = context?.traceId === jobTraceId(jid);
  // The id names the cause: each piece of a batch has a publication of its own.
  const own = joins ? { jid, parentSpanId: context.spanId } : { context: newContext() };
  telemetry.recordSpan({
    name: 'minion run',
    ...own,
    part: `run.${id}`,
    startMs,
    endMs,
    attributes: { 'salt.minion': id, 'salt.fun': fun, 'brine.jid': joins ? undefined : jid },
    link: joins ? undefined : link,
    error: success ? undefined : 'the job failed',
  });
}

/** `BRINE_TRACE_CACHEDIR` puts the spans beside those of a master on the same host. */
function telemetryOptions(options: MinionOptions, env: Environment) {
  return {
    cachedir: env['BRINE_TRACE_CACHEDIR'] ?? options.cachedir,
    logLevel: options.logLevel,
    brine: { host: hostname(), trace: 'sampled' as const },
  };
}

function mapFrom(map: unknown): SaltMap {
  const value = fromJson(map);
  return isMap(value) ? value : mapOf({});
}

import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog, type Log, type LogOptions, type SaltLogLevel } from './log.ts';
import { startOtlpExport } from './otlp-export.ts';
import { spanOf, type SpanRecord } from './span.ts';
import { NO_SINK, type SpanSink } from './span-sink.ts';
import { TraceFiles } from './trace-files.ts';
import type { TraceProfile } from './trace-profile.ts';

/** Longest time a stop waits for spans to be sent. */
const SHUTDOWN_DEADLINE_MS = 3000;
/** A trace file is rotated at this size; those of a host together stay below the other limit. */
const TRACE_FILE_BYTES = 8 * 2 ** 20;
const TRACE_FILES_BYTES = 128 * 2 ** 20;

/** The options of telemetry, a part of the master's options. */
export interface TelemetryOptions {
  readonly cachedir: string;
  readonly logLevel: SaltLogLevel;
  readonly brine: {
    readonly host: string;
    readonly trace: TraceProfile;
  };
}

/** Settings of a process's telemetry. */
export interface TelemetrySettings {
  readonly service: string;
  readonly options: TelemetryOptions;
  /** Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The target of log lines; default standard error. */
  readonly destination?: NonNullable<LogOptions['destination']>;
  /** All processes of this service write one trace file: for commands that end at once. */
  readonly sharedFile?: boolean;
  /** Smaller trace files than usual: for tests. */
  readonly maxFileBytes?: number;
  readonly maxTotalBytes?: number;
}

/** Logs and traces of one process. */
export interface Telemetry {
  readonly log: Log;
  /** True if spans of this job are recorded: those of all jobs, unless `brine.trace` is off. */
  traces(jid: string): boolean;
  /** Records finished work, if traces are on. Never throws. */
  recordSpan(record: SpanRecord): void;
  /** Resolves when all records are written. */
  flush(): Promise<void>;
  stats(): { readonly recorded: number; readonly dropped: number };
  /** Idempotent; never rejects. */
  shutdown(): Promise<void>;
}

/** Directory of the trace files, below the master's cachedir. */
export function traceDir(cachedir: string): string {
  return join(cachedir, 'traces');
}

/**
 * Starts logs and traces. With `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) set, spans go
 * to that collector; otherwise to files. Trouble with either is logged and never thrown.
 */
export async function startTelemetry(settings: TelemetrySettings): Promise<Telemetry> {
  const { service, options, destination } = settings;
  const level = options.logLevel;
  const log = createLog({ service, level, ...(destination ? { destination } : {}) });
  const sink = await openSink(settings, settings.env ?? process.env, log);
  return makeTelemetry(log, sink, options.brine.trace !== 'off');
}

async function openSink(
  settings: TelemetrySettings,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<SpanSink> {
  const { service, options } = settings;
  if (options.brine.trace === 'off') return NO_SINK;
  const source = { service, host: options.brine.host || hostname(), pid: process.pid };
  if (env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    try {
      const protocol =
        env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'];
      return await startOtlpExport(source, protocol || 'http/protobuf');
    } catch (error) {
      log.error({ err: error }, 'spans can not be sent to the collector; writing files instead');
    }
  }
  return new TraceFiles({
    dir: traceDir(options.cachedir),
    source,
    shared: settings.sharedFile === true,
    maxFileBytes: settings.maxFileBytes ?? TRACE_FILE_BYTES,
    maxTotalBytes: settings.maxTotalBytes ?? TRACE_FILES_BYTES,
    onTrouble: (what, error) => log.warn({ err: error }, `${what} can not be written`),
  });
}

function makeTelemetry(log: Log, sink: SpanSink, on: boolean): Telemetry {
  let recorded = 0;
  let failed = 0;
  let closing: Promise<void> | undefined;

  const recordSpan = (record: SpanRecord): void => {
    if (!on) return;
    try {
      sink.add(spanOf(record));
      recorded += 1;
    } catch (error) {
      // Telemetry must never stop the work that it records.
      failed += 1;
      if (failed === 1) log.warn({ err: error }, 'a span could not be recorded');
    }
  };

  const shutdown = async (): Promise<void> => {
    try {
      const late = sleep(SHUTDOWN_DEADLINE_MS, undefined, { ref: false });
      await Promise.race([sink.close(), late]);
    } catch (error) {
      log.warn({ err: error }, 'the last spans could not be sent');
    }
    log.flush();
  };

  return {
    log,
    traces: () => on,
    recordSpan,
    flush: () => sink.flush(),
    stats: () => ({ recorded, dropped: sink.dropped + failed }),
    shutdown: () => (closing ??= shutdown()),
  };
}

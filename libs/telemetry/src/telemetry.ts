import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog, type Log, type LogOptions, type SaltLogLevel } from './log.ts';
import { startOtlpExport } from './otlp-export.ts';
import { isSampled, jobTraceId, spanOf, type SpanRecord } from './span.ts';
import { NO_SINK, type SpanSink } from './span-sink.ts';
import { TraceFiles } from './trace-files.ts';

/** Longest time a stop waits for spans to be sent. */
const SHUTDOWN_DEADLINE_MS = 3000;

/** The options telemetry reads; the master's options have them all. */
export interface TelemetryOptions {
  readonly cachedir: string;
  readonly logLevel: SaltLogLevel;
  readonly brine: {
    readonly host: string;
    readonly trace: {
      readonly enabled: boolean;
      readonly ratio: number;
      readonly maxFileSize: number;
      readonly maxTotalSize: number;
    };
  };
}

/** Logs and traces of one process. */
export interface Telemetry {
  readonly log: Log;
  /** Whether spans of this job are recorded; the same for all services. */
  traces(jid: string): boolean;
  /** Records work that is over. Never throws; not at all where the job is not traced. */
  recordSpan(record: SpanRecord): void;
  /** Resolves when what was recorded is written. */
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
export async function startTelemetry(settings: {
  readonly service: string;
  readonly options: TelemetryOptions;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly destination?: NonNullable<LogOptions['destination']>;
  /** All processes of this service write one trace file: for commands that end at once. */
  readonly sharedFile?: boolean;
}): Promise<Telemetry> {
  const { service, options, destination } = settings;
  const level = options.logLevel;
  const log = createLog({ service, level, ...(destination ? { destination } : {}) });
  const sink = await openSink(settings, settings.env ?? process.env, log);
  return makeTelemetry(log, sink, options.brine.trace.enabled ? options.brine.trace.ratio : 0);
}

async function openSink(
  settings: {
    readonly service: string;
    readonly options: TelemetryOptions;
    readonly sharedFile?: boolean;
  },
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<SpanSink> {
  const { service, options } = settings;
  const { enabled, ratio, maxFileSize, maxTotalSize } = options.brine.trace;
  if (!enabled || ratio <= 0) return NO_SINK;
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
    maxFileBytes: maxFileSize,
    maxTotalBytes: maxTotalSize,
    onTrouble: (what, error) => log.warn({ err: error }, `${what} can not be written`),
  });
}

function makeTelemetry(log: Log, sink: SpanSink, ratio: number): Telemetry {
  let recorded = 0;
  let failed = 0;
  let closing: Promise<void> | undefined;

  const traces = (jid: string): boolean => ratio > 0 && isSampled(jobTraceId(jid), ratio);

  const recordSpan = (record: SpanRecord): void => {
    if (ratio <= 0) return;
    try {
      if (record.jid !== undefined && !traces(record.jid)) return;
      sink.add(spanOf(record));
      recorded += 1;
    } catch (error) {
      // Telemetry must never stop the work it looks at.
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
    traces,
    recordSpan,
    flush: () => sink.flush(),
    stats: () => ({ recorded, dropped: sink.dropped + failed }),
    shutdown: () => (closing ??= shutdown()),
  };
}

import { hostname } from 'node:os';
import { join } from 'node:path';
import { nowMs } from './clock.ts';
import { createLog, type Log, type LogOptions, type SaltLogLevel } from './log.ts';
import { startOtlpExport } from './otlp-export.ts';
import { isSampled, type SpanAttribute, type SpanRecord, spanOf } from './span.ts';
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

/** A span while its work goes on; what is learnt on the way is put in here. */
export interface LiveSpan {
  jid: string | undefined;
  part: string | undefined;
  parentPart: string | undefined;
  link: string | undefined;
  set(name: string, value: SpanAttribute): void;
}

/** What a span starts with. */
export interface SpanStart {
  readonly name: string;
  readonly jid?: string | undefined;
  readonly part?: string | undefined;
  readonly parentPart?: string | undefined;
  readonly attributes?: Readonly<Record<string, SpanAttribute | undefined>> | undefined;
  readonly link?: string | undefined;
}

/** Logs and traces of one process. */
export interface Telemetry {
  readonly log: Log;
  /** Records work that is over. Never throws; not at all where the job is not traced. */
  recordSpan(record: SpanRecord): void;
  /** Runs a body and records it; its error is recorded and thrown on. */
  span<T>(start: SpanStart, body: (span: LiveSpan) => Promise<T>): Promise<T>;
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
      return await startOtlpExport(source);
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

  const recordSpan = (record: SpanRecord): void => {
    if (ratio <= 0) return;
    try {
      const span = spanOf(record);
      if (!isSampled(span.traceId, ratio)) return;
      sink.add(span);
      recorded += 1;
    } catch (error) {
      // Telemetry must never stop the work it looks at.
      failed += 1;
      if (failed === 1) log.warn({ err: error }, 'a span could not be recorded');
    }
  };

  const span = async <T>(start: SpanStart, body: (span: LiveSpan) => Promise<T>): Promise<T> => {
    const startMs = nowMs();
    const attributes: Record<string, SpanAttribute | undefined> = { ...start.attributes };
    const live: LiveSpan = {
      jid: start.jid,
      part: start.part,
      parentPart: start.parentPart,
      link: start.link,
      set: (name, value) => void (attributes[name] = value),
    };
    const finish = (error?: string): void => {
      const { jid, part, parentPart, link } = live;
      const { name } = start;
      recordSpan({ name, jid, part, parentPart, link, startMs, endMs: nowMs(), attributes, error });
    };
    try {
      const result = await body(live);
      finish();
      return result;
    } catch (error) {
      finish(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };

  const shutdown = async (): Promise<void> => {
    try {
      await Promise.race([sink.close(), deadline(SHUTDOWN_DEADLINE_MS)]);
    } catch (error) {
      log.warn({ err: error }, 'the last spans could not be sent');
    }
    log.flush();
  };

  return {
    log,
    recordSpan,
    span,
    flush: () => sink.flush(),
    stats: () => ({ recorded, dropped: sink.dropped + failed }),
    shutdown: () => (closing ??= shutdown()),
  };
}

function deadline(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

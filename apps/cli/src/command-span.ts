import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import type { SpanContext } from '@brine/telemetry';

/** The span of `salt`: the root of its job's trace, from the start to the last return shown. */
export interface JobSpan {
  /** Writes the span once, also when the command is interrupted; nothing without a job id. */
  finish(jid: string | undefined): Promise<void>;
}

/**
 * True if this command can write a span, which needs the right to write traces. Otherwise it must
 * not promise a root span to the master: the master's spans would have no parent.
 */
export function mayTrace(
  config: MasterOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  if (config.brine.trace === 'off') return false;
  if (env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) return true;
  try {
    // As traceDir of the telemetry library, which is loaded only when there is a span to write.
    accessSync(join(config.cachedir, 'traces'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Begins the span of a command that promised one to the master (`recordsRoot`). */
export function beginJobSpan(
  config: MasterOptions,
  { fun, recordsRoot }: Pick<Command, 'fun' | 'recordsRoot'>,
  { name, isAsync }: { readonly name: string; readonly isAsync: boolean },
): JobSpan {
  if (recordsRoot !== true) return { finish: () => Promise.resolve() };
  const startMs = spanTime();
  const attributes = {
    'salt.fun': typeof fun === 'string' ? fun : fun.join(','),
    'brine.async': isAsync,
  };
  let written: Promise<void> | undefined;
  return {
    finish: (jid) => {
      if (jid === undefined) return Promise.resolve();
      return (written ??= writeSpan(config, { name, jid, startMs, attributes }));
    },
  };
}

/** Begins the trace of a runner; the requests that it causes link to it. */
export async function beginRunnerSpan(config: MasterOptions, fun: string) {
  if (!mayTrace(config)) return undefined;
  const startMs = spanTime();
  const { newContext, traceparent } = await import('@brine/telemetry');
  const context = newContext();
  const attributes = { 'salt.fun': fun };
  const finish = (): Promise<void> =>
    writeSpan(config, { name: 'cli run', startMs, context, attributes });
  return { traceparent: traceparent(context), finish };
}

interface CommandSpan {
  readonly name: string;
  readonly startMs: number;
  /** The job; the span is the root of its trace. */
  readonly jid?: string;
  /** The ids by which other requests link to it; without a job. */
  readonly context?: SpanContext;
  readonly attributes: Readonly<Record<string, string | boolean>>;
}

/** Telemetry is loaded here, after everything is shown, so that it delays no publish. */
async function writeSpan(config: MasterOptions, span: CommandSpan): Promise<void> {
  const endMs = spanTime();
  const { startTelemetry } = await import('@brine/telemetry');
  const telemetry = await startTelemetry({
    service: 'cli',
    sharedFile: true,
    options: { ...config, logLevel: 'quiet' },
  });
  const { jid, name, startMs, context, attributes } = span;
  const link = process.env['TRACEPARENT'];
  const part = jid === undefined ? 'run' : 'request';
  const ids = jid === undefined ? { context } : { jid };
  telemetry.recordSpan({ name, ...ids, part, startMs, endMs, attributes, link });
  await telemetry.shutdown();
}

/** A time for spans: unix milliseconds with fractions. */
function spanTime(): number {
  return performance.timeOrigin + performance.now();
}

import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import type { SpanContext } from '@brine/telemetry';

/** A time for spans: unix milliseconds with fractions. */
export function spanTime(): number {
  return performance.timeOrigin + performance.now();
}

/** What a command's own span says. */
export interface CommandSpan {
  readonly name: string;
  readonly startMs: number;
  /** The job whose trace it is the root of. */
  readonly jid?: string;
  /** The ids it was announced by, where it is of no job. */
  readonly context?: SpanContext;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly error?: string | undefined;
}

/**
 * Whether this command can record a span: a user who may not write traces has none of his own, and
 * must not promise one to the master, as what is hung below it would have no cause.
 */
export function mayTrace(
  config: MasterOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const { enabled, ratio } = config.brine.trace;
  if (!enabled || ratio <= 0) return false;
  if (env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) return true;
  try {
    // As traceDir of the telemetry library, which is loaded only when there is a span to write.
    accessSync(join(config.cachedir, 'traces'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Records the command's own span. It is loaded and written when all is shown: a command that is
 * typed pays nothing for it before its job is on its way. The caller has asked {@link mayTrace}.
 */
export async function recordCommand(config: MasterOptions, span: CommandSpan): Promise<void> {
  const endMs = spanTime();
  const { startTelemetry } = await import('@brine/telemetry');
  const telemetry = await startTelemetry({
    service: 'cli',
    sharedFile: true,
    options: { ...config, logLevel: 'quiet' },
  });
  const { jid, name, startMs, context, attributes, error } = span;
  const link = process.env['TRACEPARENT'];
  const part = jid === undefined ? 'run' : 'request';
  const ids = jid === undefined ? { context } : { jid };
  telemetry.recordSpan({ name, ...ids, part, startMs, endMs, attributes, link, error });
  await telemetry.shutdown();
}

import type { MasterOptions } from '@brine/config';

/** A time for {@link recordRequest}: unix milliseconds with fractions. */
export function spanTime(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Records the command's own span, the root of its job's trace. It is loaded and written when all is
 * shown: a command that is typed pays nothing for it before its job is on its way. A user who may
 * not write traces has none of his own; the services record theirs in any case.
 */
export async function recordRequest(
  config: MasterOptions,
  request: { readonly jid: string; readonly startMs: number; readonly fun: string },
): Promise<void> {
  if (!config.brine.trace.enabled) return;
  const endMs = spanTime();
  const { startTelemetry } = await import('@brine/telemetry');
  const telemetry = await startTelemetry({
    service: 'cli',
    sharedFile: true,
    options: { ...config, logLevel: 'quiet' },
  });
  const { jid, startMs, fun } = request;
  telemetry.recordSpan({
    name: 'cli request',
    jid,
    part: 'request',
    startMs,
    endMs,
    attributes: { fun },
  });
  await telemetry.shutdown();
}

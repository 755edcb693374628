import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JidMaker } from '@brine/job';
import { afterEach, beforeEach } from 'vitest';
import type { SpanRecord } from '../src/span.ts';
import {
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
  type TelemetrySettings,
} from '../src/telemetry.ts';
import type { TraceProfile } from '../src/trace-profile.ts';

/** The job of these tests' spans. */
export const JID = new JidMaker().next(Date.UTC(2026, 10, 20, 17, 10, 37));
/** Unix ms at which it began. */
export const T0 = Date.UTC(2026, 10, 20, 17, 10, 37) + 0.25;

/** A directory of each test's own, made before it and removed after it. */
export const cachedir = {
  path: '',
};

beforeEach(() => {
  cachedir.path = mkdtempSync(join(tmpdir(), 'brine-telemetry-'));
});

afterEach(() => {
  rmSync(cachedir.path, { recursive: true, force: true });
});

/** Options with the default tracing, or with that of the profile. */
export function optionsOf(trace: TraceProfile = 'sampled'): TelemetryOptions {
  return { cachedir: cachedir.path, logLevel: 'info', brine: { host: 'h1', trace } };
}

/** Starts the telemetry of a service; its log goes to `lines`. */
export function start(
  service: string,
  options = optionsOf(),
  lines: string[] = [],
  sizes: Pick<TelemetrySettings, 'maxFileBytes' | 'maxTotalBytes'> = {},
): Promise<Telemetry> {
  const destination = { write: (line: string) => void lines.push(line) };
  return startTelemetry({ service, options, env: {}, destination, ...sizes });
}

/** The cause of each part in these tests. */
const CAUSES: Readonly<Record<string, string>> = {
  'worker.publish': 'gateway.publish',
  record: 'worker.publish',
  publish: 'record',
  'gateway.return.web1.example': 'publish',
  'worker.return.web1.example': 'gateway.return.web1.example',
};

/** A span of the job, from and to these ms after its beginning. */
export function partOf(part: string, fromMs: number, toMs: number): SpanRecord {
  return {
    name: part.split('.', 2).join('.'),
    jid: JID,
    part,
    parentPart: CAUSES[part],
    startMs: T0 + fromMs,
    endMs: T0 + toMs,
  };
}

import { ConfigError } from './errors.ts';
import { type ConfigMap, isConfigMap } from './option.ts';
import type { Origin } from './table.ts';

/** An option of an earlier release. */
interface MovedOption {
  /** The replacement. */
  readonly instead: string;
  /** Its environment variable. */
  readonly env?: string;
}

const PROFILE = "set 'brine.trace' to off, errors, sampled or all instead";

/** Options of earlier releases by their path. */
const MOVED: Readonly<Record<string, MovedOption>> = {
  'brine.nats.via': {
    instead: "it is 'brine.testing.nats_via' now, for tests only",
    env: 'BRINE_NATS_VIA',
  },
  'brine.postgres.via': {
    instead: "it is 'brine.testing.postgres_via' now, for tests only",
    env: 'BRINE_POSTGRES_VIA',
  },
  'brine.eauth.auto': { instead: "it is 'brine.testing.eauth_auto' now, for tests only" },
  'brine.trace.enabled': { instead: PROFILE },
  'brine.trace.ratio': { instead: PROFILE, env: 'BRINE_TRACE_RATIO' },
  'brine.trace.returns_first': { instead: PROFILE },
  'brine.trace.returns_failed': { instead: PROFILE },
  'brine.trace.returns_ratio': { instead: PROFILE },
  'brine.trace.logins_ratio': { instead: PROFILE },
  'brine.trace.pillars_ratio': { instead: PROFILE },
  'brine.trace.events_ratio': { instead: PROFILE },
  'brine.trace.publications': { instead: "it is 'brine.trace_publications' now" },
  'brine.trace.max_file_size': { instead: 'trace files have a fixed size of 8 MiB' },
  'brine.trace.max_total_size': {
    instead: 'the trace files of a host have a fixed size of 128 MiB in all',
  },
};

/** The replacement of an option of an earlier release; undefined for any other name. */
export function movedTo(path: string): string | undefined {
  return Object.hasOwn(MOVED, path) ? MOVED[path]?.instead : undefined;
}

/**
 * Refuses options of earlier releases: ignoring one would silently change what a master does.
 * @throws ConfigError that names the replacement
 */
export function refuseMoved(
  values: ConfigMap,
  env: Readonly<Record<string, string | undefined>>,
  originOf: (path: string) => Origin,
): void {
  for (const [path, { instead, env: variable }] of Object.entries(MOVED)) {
    if (variable !== undefined && env[variable]) {
      const message = `Environment variable ${variable} is gone: ${instead}`;
      throw new ConfigError('CONFIG_VALUE', message);
    }
    if (!isSet(values, path)) continue;
    const { file, line } = originOf(path);
    const message = `Option '${path}' in ${file}, line ${line}, is gone: ${instead}`;
    throw new ConfigError('CONFIG_VALUE', message, { file, line });
  }
}

function isSet(values: ConfigMap, path: string): boolean {
  let found: ConfigMap = values;
  const names = path.split('.');
  for (const name of names.slice(0, -1)) {
    const next = Object.hasOwn(found, name) ? found[name] : undefined;
    if (!isConfigMap(next)) return false;
    found = next;
  }
  return Object.hasOwn(found, names.at(-1) ?? '');
}

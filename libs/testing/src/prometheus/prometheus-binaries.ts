import { type DebianPrograms, debianPrograms } from '../debian-programs.ts';

const missing = (text: string, options: ErrorOptions): Error =>
  new PrometheusMissingError(text, options);

const PROMETHEUS: DebianPrograms<'prometheus' | 'promtool'> = {
  package: 'prometheus',
  names: ['prometheus', 'promtool'],
  site: 'https://prometheus.io/download',
  missing,
};

const POSTGRES_EXPORTER: DebianPrograms<'prometheus-postgres-exporter'> = {
  package: 'prometheus-postgres-exporter',
  names: ['prometheus-postgres-exporter'],
  site: 'https://github.com/prometheus-community/postgres_exporter',
  missing,
};

/** Thrown if there is no Prometheus and none can be installed; the message has the reason. */
export class PrometheusMissingError extends Error {
  override readonly name = 'PrometheusMissingError';
  readonly code = 'TEST_PROMETHEUS';
}

/** Paths of the two programs of a Prometheus. */
export type PrometheusBinaries = Readonly<Record<'prometheus' | 'promtool', string>>;

/**
 * A Prometheus that runs here: the one on PATH, the one in
 * `${XDG_CACHE_HOME:-~/.cache}/brine/prometheus`, or Debian's (or Ubuntu's) package, which is
 * unpacked into that cache without being installed. Concurrent callers wait for the first. It is
 * not built from source: that takes minutes and a Node for its web pages.
 * @throws PrometheusMissingError
 */
export async function prometheusBinaries(
  env: NodeJS.ProcessEnv = process.env,
): Promise<PrometheusBinaries> {
  return (await debianPrograms(PROMETHEUS, env)).paths;
}

/**
 * The path of postgres_exporter under its Debian name, found as {@link prometheusBinaries}.
 * @throws PrometheusMissingError
 */
export async function postgresExporter(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  return (await debianPrograms(POSTGRES_EXPORTER, env)).paths['prometheus-postgres-exporter'];
}

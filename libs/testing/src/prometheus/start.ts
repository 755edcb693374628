import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, SaltProcess } from '../salt/index.ts';
import { prometheusBinaries } from './prometheus-binaries.ts';

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 100;
const TOOL_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** The targets and rules of a {@link TestPrometheus}. */
export interface PrometheusOptions {
  /** Value of the label `job` → addresses (`127.0.0.1:9101`) whose `/metrics` are scraped. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
  /** Paths of files with rules. */
  readonly rules?: readonly string[];
  /** Time between two scrapes, in ms; default 1,000. Rules are evaluated as often. */
  readonly intervalMs?: number;
}

/** A series of an answer: of an instant query the last sample, of a range all of them. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** Unix time in s, and the number as text. */
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** A rule as Prometheus has loaded it. */
export interface LoadedRule {
  readonly name: string;
  readonly type: 'alerting' | 'recording';
  readonly health: string;
  readonly lastError?: string;
  /** For an alert: `inactive`, `pending` or `firing`. */
  readonly state?: string;
  readonly alerts?: readonly { readonly labels: Readonly<Record<string, string>> }[];
}

/** A target, and the result of its last scrape. */
export interface ScrapeTarget {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: string;
  readonly lastError: string;
}

/** An observation that a bucket remembers. */
export interface Exemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: string;
}

/** A real Prometheus of a test's own. */
export interface TestPrometheus extends AsyncDisposable {
  readonly url: string;
  /** @throws Error if Prometheus refuses the query; the message is its own. */
  readonly query: (expression: string) => Promise<readonly Series[]>;
  readonly queryRange: (
    expression: string,
    range: { readonly start: number; readonly end: number; readonly step: number },
  ) => Promise<readonly Series[]>;
  /** The traces that the samples of a histogram's buckets point to. */
  readonly exemplars: (
    expression: string,
    range: { readonly start: number; readonly end: number },
  ) => Promise<readonly Exemplar[]>;
  /** The names of all metrics that were ever read. */
  readonly names: () => Promise<readonly string[]>;
  readonly rules: () => Promise<readonly LoadedRule[]>;
  readonly targets: () => Promise<readonly ScrapeTarget[]>;
  readonly close: () => Promise<void>;
}

/**
 * Starts Prometheus on loopback, in a directory of its own.
 * @throws PrometheusMissingError, or Error with the end of its log if it does not start.
 */
export async function startPrometheus(options: PrometheusOptions): Promise<TestPrometheus> {
  const { prometheus } = await prometheusBinaries();
  const dir = await mkdtemp(join(tmpdir(), 'brine-prometheus-'));
  const config = join(dir, 'prometheus.yml');
  await writeFile(config, configOf(options));
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const server = SaltProcess.start({
    command: prometheus,
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    env: { PATH: process.env['PATH'] ?? '' },
    logFile: join(dir, 'log'),
  });
  const close = async (): Promise<void> => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await untilReady(url, server);
  } catch (error) {
    await close();
    throw error;
  }
  return { url, ...readersOf(url), close, [Symbol.asyncDispose]: close };
}

/** Runs promtool; resolves also if it finds fault, with its exit code. */
export async function promtool(
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  const binaries = await prometheusBinaries();
  const settings = { timeout: TOOL_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    execFile(binaries.promtool, [...args], settings, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, output: stdout + stderr });
      else reject(new Error('promtool did not end', { cause: error }));
    });
  });
}

/** JSON is YAML. */
function configOf({ targets, rules = [], intervalMs = 1000 }: PrometheusOptions): string {
  const interval = `${intervalMs}ms`;
  return JSON.stringify({
    global: {
      scrape_interval: interval,
      scrape_timeout: interval,
      evaluation_interval: interval,
    },
    rule_files: rules,
    scrape_configs: Object.entries(targets).map(([name, addresses]) => ({
      job_name: name,
      static_configs: [{ targets: addresses }],
    })),
  });
}

async function untilReady(url: string, server: SaltProcess): Promise<void> {
  const giveUpAt = Date.now() + START_TIMEOUT_MS;
  let ended = false;
  void server.exited.finally(() => (ended = true));
  while (!ended && Date.now() < giveUpAt) {
    // Refused until it listens.
    const answer = await fetch(`${url}/-/ready`).catch(() => undefined);
    if (answer?.ok === true) return;
    await sleep(POLL_MS);
  }
  throw new Error(`Prometheus did not start:\n${(await server.log()).slice(-2000)}`);
}

function readersOf(
  url: string,
): Omit<TestPrometheus, 'url' | 'close' | typeof Symbol.asyncDispose> {
  return {
    query: async (query) => seriesOf(await ask(url, 'query', { query })),
    queryRange: async (query, { start, end, step }) => {
      const range = { query, start: String(start), end: String(end), step: String(step) };
      return seriesOf(await ask(url, 'query_range', range));
    },
    exemplars: async (query, { start, end }) => {
      const asked = { query, start: String(start), end: String(end) };
      const found = (await ask(url, 'query_exemplars', asked)) as { exemplars: Exemplar[] }[];
      return found.flatMap(({ exemplars }) => exemplars);
    },
    names: async () => (await ask(url, 'label/__name__/values')) as string[],
    rules: async () => {
      const { groups } = (await ask(url, 'rules')) as { groups: { rules: LoadedRule[] }[] };
      return groups.flatMap(({ rules }) => rules);
    },
    targets: async () => {
      const data = await ask(url, 'targets', { state: 'active' });
      return (data as { activeTargets: ScrapeTarget[] }).activeTargets;
    },
  };
}

/** A scalar becomes a series without labels, as Grafana shows it. */
function seriesOf(data: unknown): readonly Series[] {
  const { resultType, result } = data as { resultType: string; result: unknown };
  if (resultType !== 'scalar') return result as Series[];
  return [{ metric: {}, value: result as [number, string] }];
}

async function ask(
  url: string,
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await fetch(`${url}/api/v1/${path}?${String(new URLSearchParams(parameters))}`);
  const body = (await answer.json()) as { status: string; error?: string; data?: unknown };
  if (body.status !== 'success') throw new Error(`${path}: ${body.error}`);
  return body.data;
}

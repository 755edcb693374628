// "Each query of each panel returns data from our endpoints": a whole master with minions and jobs,
// read by a real Prometheus; every query of our dashboards and of salt-exporter's public board is
// put to it, every query in SQL to the job cache.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJid, traceIdOf } from '@brine/job';
import { grantRoles } from '@brine/job-cache';
import { Releasers } from '@brine/service';
import {
  BrineMaster,
  freePorts,
  newestOf,
  SaltProcess,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import {
  postgresExporter,
  prometheusBinaries,
  type Series,
  startPrometheus,
  type TestPrometheus,
} from '@brine/testing/prometheus';
import { loadPauses } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  INFRA,
  jobVariable,
  metricNames,
  type PanelQuery,
  publicQueries,
  publicVariables,
  queriesOfOurs,
  ruleFiles,
  ruleQueries,
} from './dashboard-queries.ts';
import { healthPorts, httpEndpoint } from './health-ports.ts';

const STOCK = 'stock';
const MINIONS = ['brine-0', 'brine-1', STOCK];
/** Rounds of jobs; a round takes some seconds. */
const ROUNDS = 5;
const RATE_WINDOW = '10s';
const PASSWORD = 'for-a-test';
/**
 * What we do here looks like trouble to these, if it went on for a quarter of an hour; so does a
 * machine with other work, where requests take seconds and loops wait for a CPU.
 */
const PENDING_ALLOWED = [
  ...['BrineJobsFail', 'BrineAnswersMissing'],
  ...['BrineRequestsSlow', 'BrineEventLoopLag', 'BrineStoreSlow'],
];

/** Counters with labels have no series before the first of what they count. */
const NOT_ON_A_HEALTHY_MASTER = [
  'brine_store_known_rows_total',
  'brine_store_refused_rows_total',
  'brine_store_replaced_returns_total',
  'brine_stream_aside_total',
  // Where NATS is reached by TLS (test/integration/security/certificates.deep.test.ts).
  'brine_nats_certificate_end_seconds',
  // Where there is no master above.
  'brine_syndic_masters',
  'brine_syndic_masters_heard',
  'brine_syndic_ways_blocked',
];

/** Why this can not be tried here; undefined where it can. */
const missing = await Promise.all([prometheusBinaries(), postgresExporter()]).then(
  () => undefined,
  (error: unknown) => (error as Error).message,
);

describe('the queries of the dashboards', () => {
  let database: TestPostgres;
  let master: BrineMaster;
  let prometheus: TestPrometheus;
  let reader: pg.Pool;
  let jid = '';
  let http = '';
  const jids: string[] = [];
  const releasers = new Releasers();
  const shown = { start: 0, end: 0, step: 1 };

  beforeAll(async () => {
    if (missing !== undefined) return;
    const venv = await saltVenv(newestOf('3008'));
    database = await startPostgres();
    releasers.add(() => database.stop());
    master = await BrineMaster.start({
      event_return: 'pgjsonb',
      brine: { workers: 2, postgres: { url: database.url } },
    });
    releasers.add(() => master.close());
    await makeReaders(database);
    const [port = 0] = await freePorts(1);
    const exporter = SaltProcess.start({
      command: await postgresExporter(),
      args: [`--web.listen-address=127.0.0.1:${port}`],
      env: { DATA_SOURCE_NAME: `${urlAs('exporter', database.url)}?sslmode=disable` },
      logFile: join(master.sandbox.dir, 'postgres-exporter.log'),
    });
    releasers.add(() => exporter.stop());
    const services = await healthPorts(master);
    http = await httpEndpoint(services['http-api']?.[0]);
    prometheus = await startPrometheus({
      targets: { ...services, postgres: [`127.0.0.1:${port}`] },
      rules: ruleFiles,
    });
    releasers.add(() => prometheus.close());
    for (const id of MINIONS.slice(0, -1)) await master.startMinion(id);
    const home = await master.sandbox.minion(STOCK, master.home.retPort, {
      schedule: {
        beat: { function: 'test.ping', seconds: 3 },
        broken: { function: 'cmd.run', args: ['exit 3'], seconds: 4 },
      },
    });
    master.sandbox.startMinion(venv, home);
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
    reader = new pg.Pool({ connectionString: urlAs('grafana', database.url), max: 2 });
    releasers.add(() => reader.end());
    shown.start = Date.now() / 1000;
    for (let round = 0; round < ROUNDS; round += 1) await work();
    jid = await slowJob();
    shown.end = Date.now() / 1000;
  });
  afterAll(async () => {
    if (missing !== undefined) return;
    await releasers.run();
  });

  /** Jobs that succeed, fail, run states, and one unknown function. */
  async function work(): Promise<void> {
    const commands = [
      ['*', 'test.ping'],
      ['*', 'cmd.run', 'exit 3', 'python_shell=True'],
      [STOCK, 'state.highstate'],
      ['*', 'test.no_such_function'],
    ];
    await Promise.all([...commands.map(salt), fetch(http)]);
    // A minion runs no state while another runs.
    await salt([STOCK, 'state.single', 'test.nop', 'name=nothing']);
    await loadPauses(1_000);
  }

  async function salt(command: readonly string[]): Promise<void> {
    const { stdout } = await master.brine('salt', [...command, '--show-jid', '-t', '20']);
    const [, found] = /^jid: (\d{20})$/m.exec(stdout) ?? [];
    if (found !== undefined) jids.push(found);
  }

  /** A job that outlasts the patience of its command, which asks the minion whether it runs. */
  async function slowJob(): Promise<string> {
    const command = [STOCK, 'test.sleep', '5', '--show-jid', '-t', '2'];
    const { stdout } = await master.brine('salt', command);
    const [, found = ''] = /^jid: (\d{20})$/m.exec(stdout) ?? [];
    jids.push(found);
    return found;
  }

  const promql = (expression: string): string =>
    expression
      .replaceAll('$__rate_interval', RATE_WINDOW)
      .replaceAll('$__range', `${Math.ceil(shown.end - shown.start)}s`)
      .replaceAll('$service', '.+')
      .replaceAll('$database', new URL(database.url).pathname.slice(1))
      .replaceAll(/\$(function|state)\b/g, '.*');

  const sql = (text: string): string =>
    text
      .replaceAll('${jid:sqlstring}', `'${jid}'`)
      .replaceAll(
        /\$__timeFilter\(([\w.]+)\)/g,
        `$1 BETWEEN to_timestamp(${shown.start}) AND to_timestamp(${shown.end + 60})`,
      );

  async function withoutData(queries: readonly PanelQuery[]): Promise<readonly string[]> {
    const empty: string[] = [];
    for (const { where, text } of queries) {
      const found = await prometheus.queryRange(promql(text), shown);
      if (!hasNumber(found)) empty.push(`${where}: ${text}`);
    }
    return empty;
  }

  it('Prometheus reads every service', async (context) => {
    context.skip(missing !== undefined, missing);
    const bad = async (): Promise<string[]> =>
      (await prometheus.targets())
        .filter(({ health }) => health !== 'up')
        .map(({ labels, lastError }) => `${labels['job']}: ${lastError}`);
    await expect.poll(bad, { timeout: 30_000, interval: 1_000 }).toEqual([]);
    expect(await prometheus.targets()).toHaveLength(10);
  });

  it('of our boards each has data', async (context) => {
    context.skip(missing !== undefined, missing);
    const asked = queriesOfOurs('expr');
    expect(asked.length).toBeGreaterThan(100);
    expect(await withoutData(asked)).toEqual([]);
  });

  it('of the public board of salt-exporter each has data, as it is', async (context) => {
    context.skip(missing !== undefined, missing);
    expect(await withoutData(publicQueries)).toEqual([]);
    for (const { name, query, regex } of publicVariables) {
      // As Grafana shows a series to the regular expression of a variable.
      const series = (await prometheus.queryRange(promql(query), shown)).map(({ metric }) => {
        const labels = Object.entries(metric).map(([label, value]) => `${label}="${value}"`);
        return `x{${labels.join(',')}} 1 1`;
      });
      const values = series.flatMap((line) => regex.exec(line)?.[1] ?? []);
      expect(values, name).toContain(name === 'function' ? 'test.ping' : 'test.nop');
    }
  });

  it('in SQL each has rows, as a user that may only read', async (context) => {
    context.skip(missing !== undefined, missing);
    const asked = queriesOfOurs('rawSql');
    expect(asked.length).toBeGreaterThan(5);
    for (const { where, text } of asked) {
      const { rowCount } = await reader.query(sql(text));
      expect(rowCount, `${where}: ${text}`).toBeGreaterThan(0);
    }
    await expect(reader.query('DELETE FROM brine.jobs')).rejects.toThrow(/read-only|permission/);
  });

  it('the variables of the job board lead to jobs and their traces', async (context) => {
    context.skip(missing !== undefined, missing);
    const listed = await reader.query<{ jid: string }>(sql(jobVariable('jid')));
    expect(listed.rows.map((row) => row.jid)).toEqual(expect.arrayContaining(jids));
    const { rows } = await reader.query<Record<string, string>>(sql(jobVariable('trace')));
    expect(Object.values(rows[0] ?? {})).toEqual([traceOf(jid)]);
    const shownTrace = await master.brine('trace', [jid]);
    expect(shownTrace).toMatchObject({ code: 0, stdout: expect.stringContaining('publish') });
  });

  it('the points in the graphs of times lead to traces of jobs', async (context) => {
    context.skip(missing !== undefined, missing);
    const known = new Set(jids.map(traceOf));
    for (const name of ['salt_job_duration_milliseconds', 'brine_gateway_request_seconds']) {
      const found = await prometheus.exemplars(`${name}_bucket`, shown);
      const traces = found.map(({ labels }) => labels['trace_id'] ?? '');
      expect(traces.filter((id) => known.has(id)).length, name).toBeGreaterThan(0);
    }
  });

  it('name metrics that exist, as those of the rules do', async (context) => {
    context.skip(missing !== undefined, missing);
    const asked = [...ruleQueries, ...queriesOfOurs('expr').map(({ text }) => text)];
    const exist = new Set([...(await prometheus.names()), ...NOT_ON_A_HEALTHY_MASTER]);
    const names = new Set(asked.flatMap(metricNames));
    expect(names.size).toBeGreaterThan(60);
    expect([...names].filter((name) => !exist.has(name))).toEqual([]);
  });

  it('of the rules are all evaluated, and none fires', async (context) => {
    context.skip(missing !== undefined, missing);
    const rules = await prometheus.rules();
    expect(rules).toHaveLength(ruleQueries.length);
    const broken = rules.filter(({ health }) => health !== 'ok');
    expect(broken.map(({ name, lastError }) => `${name}: ${lastError}`)).toEqual([]);
    // A single slow second of the machine makes a rule pending until the next look at it.
    const raised = async (): Promise<string[]> =>
      (await prometheus.rules())
        .filter(({ state }) => state === 'pending' || state === 'firing')
        .map(({ name }) => name)
        .filter((name) => !PENDING_ALLOWED.includes(name));
    await expect.poll(raised, { timeout: 60_000, interval: 1_000 }).toEqual([]);
  });
});

function hasNumber(found: readonly Series[]): boolean {
  return found.some(({ values = [] }) => values.some(([, text]) => Number.isFinite(Number(text))));
}

/** Makes the users that look on, with the SQL that the container of PostgreSQL runs. */
async function makeReaders({ url, superuserUrl }: TestPostgres): Promise<void> {
  const script = readFileSync(join(INFRA, 'postgres', 'readers.sh'), 'utf8');
  const [, all = ''] = /<<'SQL'\n([^]*)\nSQL\n/.exec(script) ?? [];
  // A built-in server has these two from its first start.
  const text = all.replaceAll(/^CREATE ROLE brine_(?:store|reader) NOLOGIN;$/gm, '');
  expect(text.length).toBeLessThan(all.length);
  const client = new pg.Client({ connectionString: superuserUrl });
  await client.connect();
  await client.query(text.replaceAll(/:'(?:store|grafana|exporter)'/g, `'${PASSWORD}'`));
  await client.end();
  await grantRoles(url);
}

function urlAs(user: string, url: string): string {
  const made = new URL(url);
  made.username = user;
  made.password = PASSWORD;
  return made.href;
}

function traceOf(jid: string): string {
  if (!isJid(jid)) throw new Error(`no jid: ${jid}`);
  return traceIdOf(jid);
}

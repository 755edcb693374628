// The queries of our dashboards, of the public board of salt-exporter, and of the rules.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Where alerts, dashboards and the script for PostgreSQL are. */
export const INFRA = new URL('../../../infra/', import.meta.url).pathname;

const DASHBOARDS = join(INFRA, 'grafana', 'dashboards');
const RULES = join(INFRA, 'prometheus', 'rules');
const FIXTURE = new URL('../../fixtures/salt-exporter/board-queries.json', import.meta.url);

/** A query and the panel that asks it. */
export interface PanelQuery {
  readonly where: string;
  readonly text: string;
}

interface BoardFile {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr?: string; readonly rawSql?: string }[];
  }[];
  readonly templating: { readonly list: readonly { name: string; query: unknown }[] };
}

interface PublicBoard {
  readonly variables: readonly { name: string; query: string; regex: string }[];
  readonly queries: readonly { panel: string; expr: string }[];
}

const boards = readdirSync(DASHBOARDS).map((file) => ({
  file,
  ...(JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as BoardFile),
}));

const fixture = JSON.parse(readFileSync(FIXTURE, 'utf8')) as PublicBoard;

/** What our panels ask Prometheus (`expr`) or PostgreSQL (`rawSql`). */
export function queriesOfOurs(kind: 'expr' | 'rawSql'): readonly PanelQuery[] {
  return boards.flatMap(({ file, panels }) =>
    panels.flatMap(({ title, targets = [] }) =>
      targets.flatMap((target) => {
        const text = target[kind];
        return text === undefined ? [] : [{ where: `${file}: ${title}`, text }];
      }),
    ),
  );
}

/** What the public board's panels ask. */
export const publicQueries: readonly PanelQuery[] = fixture.queries.map(({ panel, expr }) => ({
  where: panel,
  text: expr,
}));

/** Its variables: a query, and what is taken out of the lines of its answer. */
export const publicVariables = fixture.variables.map(({ name, query, regex }) => ({
  name,
  query: /^query_result\((.*)\)$/.exec(query)?.[1] ?? '',
  regex: new RegExp(regex.slice(1, -1)),
}));

/** The SQL of a variable of the board of one job. */
export function jobVariable(name: string): string {
  const list = boards.find(({ file }) => file === 'job.json')?.templating.list ?? [];
  const query = list.find((one) => one.name === name)?.query;
  if (typeof query !== 'string') throw new Error(`no variable ${name}`);
  return query;
}

/** The files with rules. */
export const ruleFiles: readonly string[] = readdirSync(RULES).map((file) => join(RULES, file));

/** What the rules ask. */
export const ruleQueries: readonly string[] = ruleFiles.flatMap((file) => {
  const { groups } = parse(readFileSync(file, 'utf8')) as {
    groups: { rules: { expr: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
});

/** The names of metrics of ours in a query; not what stands in quotes. */
export function metricNames(query: string): readonly string[] {
  const bare = query.replaceAll(/"[^"]*"/g, '""');
  return bare.match(/\b(?:brine|salt|process|nodejs|pg)_[a-z_0-9]+\b/g) ?? [];
}

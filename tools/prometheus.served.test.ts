// What infra/prometheus says is what Prometheus takes, and each alert fires when it should and only
// then: judged by promtool.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { MASTER_SERVICES } from '@brine/service/processes';
import { prometheusBinaries, promtool } from '@brine/testing/prometheus';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const INFRA = new URL('../infra/', import.meta.url).pathname;
const RULES = join(INFRA, 'prometheus', 'rules');
const TESTS = join(INFRA, 'prometheus', 'tests');

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface ScrapeConfig {
  readonly job_name: string;
  readonly dns_sd_configs?: readonly { readonly names: string[]; readonly port: number }[];
}

const rules = readdirSync(RULES).flatMap((file) => {
  const { groups } = parse(readFileSync(join(RULES, file), 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  return groups.flatMap((group) => group.rules);
});
const alerts = rules.filter(({ alert }) => alert !== undefined);

const scratch = mkdtempSync(join(tmpdir(), 'brine-prometheus-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Why there is no promtool; undefined where there is one. */
const missing = await prometheusBinaries().then(
  () => undefined,
  (error: unknown) => (error as Error).message,
);

describe('rules', () => {
  test('promtool takes them', async (context) => {
    context.skip(missing !== undefined, missing);
    const files = readdirSync(RULES).map((file) => join(RULES, file));
    expect(await promtool(['check', 'rules', ...files])).toMatchObject({ code: 0 });
  });

  test('each fires when it should and stays silent when all is well', async (context) => {
    context.skip(missing !== undefined, missing);
    const files = readdirSync(TESTS).map((file) => join(TESTS, file));
    const { code, output } = await promtool(['test', 'rules', ...files]);
    expect(code, output).toBe(0);
  });

  test('each alert has a test in which it fires', () => {
    const firing = readdirSync(TESTS).flatMap((file) => {
      const text = readFileSync(join(TESTS, file), 'utf8');
      const counted = text.matchAll(/alertname="(Brine\w+)"/g);
      const listed = text.matchAll(/alertname: (Brine\w+)\s+exp_alerts:/g);
      return [...counted, ...listed].map(([, name]) => name);
    });
    expect(alerts.map(({ alert }) => alert).filter((name) => !firing.includes(name))).toEqual([]);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });

  test('each says what is wrong, how much, and what to do', () => {
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning', 'info'], alert).toContain(labels?.['severity']);
      for (const name of ['summary', 'description', 'runbook']) {
        expect(annotations?.[name], `${alert}: ${name}`).toMatch(/\S{3}/);
      }
    }
  });
});

describe('prometheus.yml', () => {
  const text = readFileSync(join(INFRA, 'prometheus', 'prometheus.yml'), 'utf8');

  test('Prometheus takes it', async (context) => {
    context.skip(missing !== undefined, missing);
    const file = join(scratch, 'prometheus.yml');
    writeFileSync(file, text.replace('/etc/prometheus/rules', RULES));
    const { code, output } = await promtool(['check', 'config', file]);
    expect(code, output).toBe(0);
    expect(output).toContain('rule files found');
  });

  test('it reads every service, at the port where they answer', () => {
    const { scrape_configs: configs } = parse(text) as { scrape_configs: ScrapeConfig[] };
    const [found] = configs.flatMap(({ dns_sd_configs: dns = [] }) => dns);
    expect(found?.names.toSorted()).toEqual(MASTER_SERVICES.toSorted());
    const { options } = loadMasterConfig({ file: join(INFRA, 'master'), env: {} });
    expect(found?.port).toBe(options.brine.healthPort);
  });
});

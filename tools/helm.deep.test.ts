// What can be said of the chart without a cluster: helm and kubeconform take it, with each of its
// forms, and it fits the services, their options, their metrics and their rights.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SERVER_NAME } from '@brine/bus';
import { isOption, loadMasterConfig, masterOptions, type OptionTable } from '@brine/config';
import { natsConf, resolveNatsServer } from '@brine/nats-server';
import { MASTER_SERVICES } from '@brine/service/processes';
import { natsCertificates } from '@brine/testing';
import { kubernetesTools, runTool } from '@brine/testing/kubernetes';
import { DockerfileParser } from 'dockerfile-ast';
import { afterAll, describe, expect, test, type TestContext } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const INFRA = new URL('../infra/', import.meta.url).pathname;
const CHART = join(INFRA, 'helm/brine');
/** Services that open the master's keys. */
const WITH_KEYS = ['event-bus', 'worker-pool', 'runner-pool', 'publisher'];
/** The first use builds helm. */
const BUILD_MS = 900_000;
/** Values that bring each part of the chart in, and leave each out. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  'as it comes': [],
  'NATS and PostgreSQL of its own, one of each': ['nats.replicas=1', 'postgres.enabled=true'],
  'NATS of somebody else, no autoscaling, below a master': [
    'nats.enabled=false',
    'nats.host=nats-1.example:4222\\,nats-2.example',
    'autoscaling.enabled=false',
    'services.syndic-relay.replicas=1',
    'syndic.existingSecret=syndic-keys',
    'tracing.endpoint=http://jaeger:4318',
    'service.type=ClusterIP',
    'networkPolicy.minions[0].ipBlock.cidr=10.0.0.0/8',
  ],
};

interface Container {
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: string[] } } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string } };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [Container];
        readonly volumes?: readonly {
          readonly name: string;
          readonly secret?: { readonly secretName: string };
        }[];
      };
    };
    readonly metrics?: readonly { readonly pods: { readonly metric: { readonly name: string } } }[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly egress?: readonly {
      readonly ports: readonly { readonly port: number }[];
      readonly to?: readonly object[];
    }[];
  };
}

const scratch = mkdtempSync(join(tmpdir(), 'brine-helm-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Undefined where there is no Go; the test says so then. */
async function toolsOr(context: TestContext) {
  try {
    return await kubernetesTools();
  } catch (error) {
    return context.skip((error as Error).message);
  }
}

async function render(context: TestContext, form = 'as it comes') {
  const tools = await toolsOr(context);
  const sets = (FORMS[form] ?? []).flatMap((one) => ['--set', one]);
  const kube = ['--kube-version', `${tools.release}.0`];
  const { code, stdout, output } = await runTool(tools.helm, [
    ...['template', 'here', CHART, '--namespace', 'salt'],
    ...kube,
    ...sets,
  ]);
  expect(code, output).toBe(0);
  const manifests = parseAllDocuments(stdout).map((one) => one.toJS() as Manifest);
  const find = (kind: string, name: string): Manifest => {
    const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`${form} has no ${kind} ${name}`);
    return found;
  };
  return { tools, text: stdout, manifests, find };
}

const conform = (tools: { kubeconform: string; schemas: string }, manifests: string) =>
  runTool(
    tools.kubeconform,
    [
      ...['-strict', '-summary', '-schema-location'],
      join(tools.schemas, '{{ .ResourceKind }}{{ .KindSuffix }}.json'),
    ],
    manifests,
  );

describe('the chart', { timeout: BUILD_MS }, () => {
  test('helm has nothing to say against it', async (context) => {
    const { helm, release } = await toolsOr(context);
    const { code, output } = await runTool(helm, [
      ...['lint', '--strict', CHART, '--kube-version', `${release}.0`],
    ]);
    expect(code, output).toBe(0);
  });

  test('kubeconform takes what comes of it, in each form', async (context) => {
    for (const form of Object.keys(FORMS)) {
      const { tools, text, manifests } = await render(context, form);
      const { code, output } = await conform(tools, text);
      expect(code, `${form}: ${output}`).toBe(0);
      expect(output).toContain(`${manifests.length} resources`);
    }
  });

  test('kubeconform would have seen a field that does not exist', async (context) => {
    const { tools, text } = await render(context);
    const wrong = text.replace('terminationGracePeriodSeconds', 'terminationGraceSeconds');
    const { code, output } = await conform(tools, wrong);
    expect(code).not.toBe(0);
    expect(output).toContain('terminationGraceSeconds');
  });

  test('values that mean nothing are refused', async (context) => {
    const { helm } = await toolsOr(context);
    const wrong = [
      'services.worker-poool.replicas=3',
      'services.event-bus.replicas=2',
      'nats.replicas=2',
      'master.brine.nats.url=nats://everybody:sees@it',
    ];
    for (const set of wrong) {
      const { code } = await runTool(helm, ['template', 'here', CHART, '--set', set]);
      expect(code, set).not.toBe(0);
    }
    const without = ['template', 'here', CHART, '--set', 'nats.enabled=false'];
    const kube = ['--kube-version', '1.30.0'];
    expect((await runTool(helm, [...without, ...kube])).output).toContain('nats.host');
  });

  test('has each service of a master, in the image of its stage, asked if it is ready', async (context) => {
    const { find, manifests } = await render(context);
    const dockerfile = DockerfileParser.parse(readFileSync(join(INFRA, 'Dockerfile'), 'utf8'));
    const stages = dockerfile.getFROMs().map((from) => from.getBuildStage());
    const deployed = manifests.filter(({ kind }) => kind === 'Deployment');
    expect(deployed).toHaveLength(MASTER_SERVICES.length);
    for (const service of MASTER_SERVICES) {
      const { spec } = find('Deployment', `here-brine-${service}`).spec?.template ?? {};
      const [container] = spec?.containers ?? [];
      expect(stages).toContain(container?.image.replace(/^brine\/|:.*$/g, ''));
      expect(container?.readinessProbe?.httpGet.path).toBe('/readyz');
      // "Not ready" is seen, then it stops within its own deadline, then it is killed.
      const waits = Number(container?.lifecycle?.preStop.exec.command[1]);
      expect(waits).toBeGreaterThan(0);
      const master = parse(find('ConfigMap', 'here-brine-master').data?.['master'] ?? '') as {
        brine: { stop_deadline: number };
      };
      expect(spec?.terminationGracePeriodSeconds).toBeGreaterThan(
        waits + master.brine.stop_deadline,
      );
    }
  });

  test('sets options and variables that there are', async (context) => {
    const { find, manifests } = await render(context);
    const file = join(scratch, 'master');
    writeFileSync(file, find('ConfigMap', 'here-brine-master').data?.['master'] ?? '');
    const { options, warnings } = loadMasterConfig({ file, env: {} });
    expect(warnings).toEqual([]);
    expect(options.brine).toMatchObject({ streamReplicas: 3, host: 'here-brine' });
    const known = new Set([...variablesOf(masterOptions), 'BRINE_INSTANCE']);
    const deployed = manifests.filter(({ kind }) => kind === 'Deployment');
    const named = deployed.flatMap(({ spec }) => spec?.template?.spec.containers[0].env ?? []);
    expect(named.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
  });

  test('gives each service the secrets that it opens, and no others', async (context) => {
    const { find } = await render(context);
    for (const service of MASTER_SERVICES) {
      const { spec } = find('Deployment', `here-brine-${service}`).spec?.template ?? {};
      const { env = [], volumeMounts = [] } = spec?.containers[0] ?? {};
      const value = (name: string): string | undefined =>
        env.find((one) => one.name === name)?.value;
      const secrets = (spec?.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []);
      expect(secrets.filter((name) => name.includes('certificate'))).toEqual([
        `brine-certificate-${service}`,
      ]);
      expect(secrets.includes('brine-master-keys'), service).toBe(WITH_KEYS.includes(service));
      const mount = volumeMounts.find(({ name }) => name === 'certificate');
      expect(mount?.mountPath).toBe(join(value('BRINE_NATS_CERTIFICATES') ?? '', service));
      expect(value('NATS_URL')?.split(',')).toEqual(
        [0, 1, 2].map((index) => `tls://here-brine-nats-${index}.here-brine-nats:4222`),
      );
      expect(env.some(({ name }) => name === 'DATABASE_URL')).toBe(
        service === 'job-cache-returner',
      );
    }
  });

  test('scales workers by a metric that workers have', async (context) => {
    const { find } = await render(context);
    const { metrics = [] } = find('HorizontalPodAutoscaler', 'here-brine-worker-pool').spec ?? {};
    const table = readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8').split('\n');
    for (const { pods } of metrics) {
      const line = table.find((one) => one.includes(`\`${pods.metric.name}\``));
      expect(line).toContain('worker-pool');
      expect(line).toContain('gauge');
    }
    expect(metrics.length).toBeGreaterThan(0);
  });

  test('has one address for both ports, each to the pods that have it', async (context) => {
    const { find, manifests } = await render(context);
    const behind = (service: string): readonly (string | undefined)[] => {
      const { selector = {} } = find('Service', service).spec ?? {};
      const chosen = manifests.filter(({ kind, spec }) => {
        const labels = spec?.template?.metadata.labels ?? {};
        return kind === 'Deployment' && Object.entries(selector).every(([k, v]) => labels[k] === v);
      });
      return chosen.map(({ metadata }) => metadata.labels['app.kubernetes.io/component']).sort();
    };
    expect(behind('here-brine')).toEqual(['publisher', 'req-gateway']);
    expect(behind('here-brine-http')).toEqual(['http-api']);
  });

  test('lets services without the keys of the master speak to NATS alone', async (context) => {
    const { find } = await render(context);
    for (const service of ['req-gateway', 'http-api']) {
      const { egress = [] } = find('NetworkPolicy', `here-brine-${service}`).spec ?? {};
      expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[4222]]);
      expect(JSON.stringify(egress[0]?.to)).toContain('"app.kubernetes.io/component":"nats"');
    }
    const all = find('NetworkPolicy', 'here-brine').spec?.egress ?? [];
    expect(all.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([53, 53]);
  });
});

// Written again by: npx vitest run --project deep tools/helm.deep.test.ts -u
describe("the chart's NATS", { timeout: 120_000 }, () => {
  const common = {
    serverName: '$BRINE_NATS_SERVER_NAME',
    host: '0.0.0.0',
    port: 4222,
    monitorPort: 8222,
    storeDir: '/data/jetstream',
    certificates: '/etc/nats/certificates',
  };
  const routes = [0, 1, 2].map((index) => `$BRINE_NATS_ROUTE_${index}`);
  const cluster = {
    name: 'brine',
    host: '0.0.0.0',
    port: 6222,
    routes,
  };
  const files = { 'nats.conf': common, 'nats-cluster.conf': { ...common, cluster } };

  test.each(Object.entries(files))(
    '%s is what the library makes, and taken',
    async (name, made) => {
      const path = join(CHART, 'files', name);
      await expect(natsConf(made)).toMatchFileSnapshot(path);
      const here = join(scratch, name);
      await natsCertificates(`${here}.d`).init([], 1);
      const text = readFileSync(path, 'utf8');
      const own = join(`${here}.d`, SERVER_NAME);
      writeFileSync(here, text.replaceAll('/etc/nats/certificates', own));
      const binary = await resolveNatsServer({ env: process.env });
      const env = Object.fromEntries([
        ...routes.map((route, index) => [route.slice(1), `nats-route://nats-${index}:6222`]),
        ['BRINE_NATS_SERVER_NAME', 'nats-0'],
      ]) as NodeJS.ProcessEnv;
      await expect(promisify(execFile)(binary, ['-t', '-c', here], { env })).resolves.toMatchObject(
        { stderr: expect.stringContaining('is valid') },
      );
    },
  );
});

function variablesOf(table: OptionTable): string[] {
  return Object.values(table).flatMap((entry) =>
    isOption(entry) ? (entry.env ?? []) : variablesOf(entry),
  );
}

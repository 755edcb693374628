// What the units and the files of the packages promise to each other and to the product.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig, loadMinionConfig } from '@brine/config';
import { afterAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../apps/cli/src/exit-codes.ts';
import { directoriesOf } from '../../apps/cli/src/master/verify-env.ts';

const PACKAGING = new URL('../../packaging/', import.meta.url).pathname;
const dir = mkdtempSync(join(tmpdir(), 'brine-units-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const read = (path: string): string => readFileSync(join(PACKAGING, path), 'utf8');

/** The values of a key of a unit, in their order. */
function valuesOf(unit: string, key: string): string[] {
  return [...read(unit).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

const MASTER = 'systemd/brine-master.service';
const MINION = 'systemd/brine-minion.service';

describe('the master', () => {
  const { options, warnings } = loadMasterConfig({ file: join(PACKAGING, 'etc/master'), env: {} });

  test('its configuration has known options only, all in force', () => {
    expect(warnings).toEqual([]);
  });

  test('runs as the user of its configuration, and may write where that says', () => {
    expect(valuesOf(MASTER, 'User')).toEqual([options.user]);
    expect(valuesOf(MASTER, 'Group')).toEqual([options.user]);
    expect(valuesOf(MASTER, 'ProtectSystem')).toEqual(['strict']);
    const writable = [
      ...valuesOf(MASTER, 'StateDirectory').map((path) => `/var/lib/${path}`),
      ...valuesOf(MASTER, 'CacheDirectory').map((path) => `/var/cache/${path}`),
      ...valuesOf(MASTER, 'LogsDirectory').map((path) => `/var/log/${path}`),
      ...valuesOf(MASTER, 'RuntimeDirectory').map((path) => `/run/${path}`),
      ...valuesOf(MASTER, 'ReadWritePaths').map((path) => path.replace(/^-/, '')),
    ];
    const { pidfile, logFile, extensionModules } = options;
    const made = directoriesOf(options).map(({ path }) => path);
    const written = [...made, pidfile, logFile, extensionModules];
    const closed = written.filter(
      (path) => !writable.some((above) => path === above || path.startsWith(`${above}/`)),
    );
    expect(closed).toEqual([]);
  });

  test('files of jobs are for its user and group', () => {
    expect(valuesOf(MASTER, 'CacheDirectoryMode')).toEqual(['0750']);
    expect(read('debian/brine-master/postinst')).toContain(`make 0750 ${options.cachedir}\n`);
    // The account of PostgreSQL has its way elsewhere.
    expect(options.brine.stateDir.startsWith(options.cachedir)).toBe(false);
  });

  test('gpg may write its locks and its socket beside its keys', () => {
    const homes = ['/etc/brine/gpgkeys', '/etc/salt/gpgkeys'];
    const writable = [MASTER, 'examples/etc-salt.conf'].flatMap((unit) =>
      valuesOf(unit, 'ReadWritePaths').flatMap((paths) => paths.split(' ')),
    );
    // Most masters have no such directory.
    for (const home of homes) expect(writable).toContain(`-${home}`);
  });

  test('tells systemd when it serves, and is not started again where that can not help', () => {
    expect(valuesOf(MASTER, 'Type')).toEqual(['notify']);
    // The command `systemd-notify` is another process than the master.
    expect(valuesOf(MASTER, 'NotifyAccess')).toEqual(['all']);
    const [prevented = ''] = valuesOf(MASTER, 'RestartPreventExitStatus');
    expect(prevented.split(' ').map(Number)).toEqual([EXIT.portsTaken, EXIT.usage, 67]);
    const [stop = ''] = valuesOf(MASTER, 'TimeoutStopSec');
    expect(Number(stop)).toBeGreaterThan(2 * options.brine.stopDeadline);
  });

  test('has no rights that a master does not need', () => {
    expect(valuesOf(MASTER, 'CapabilityBoundingSet')).toEqual(['']);
    for (const key of ['NoNewPrivileges', 'ProtectHome', 'PrivateDevices', 'PrivateTmp']) {
      expect(valuesOf(MASTER, key), key).toEqual(['true']);
    }
  });
});

describe('the minion', () => {
  test('its configuration has known options only, in directories that its unit makes', () => {
    writeFileSync(join(dir, 'minion'), read('etc/minion'));
    const { options, warnings } = loadMinionConfig({ configDir: dir, env: {} });
    expect(warnings).toEqual([]);
    expect(options.cachedir).toBe(`/var/cache/${valuesOf(MINION, 'CacheDirectory').join()}`);
    expect(options.sockDir).toBe(`/run/${valuesOf(MINION, 'RuntimeDirectory').join()}`);
  });
});

test('a debugger stays shut from the first line on', () => {
  for (const unit of [MASTER, MINION]) {
    expect(valuesOf(unit, 'Environment')).toEqual(['NODE_OPTIONS=--inspect-port=192.0.2.1:9229']);
  }
});

test('an archive has what the steps of the page copy', () => {
  const page = readFileSync(new URL('../../docs/install.md', import.meta.url), 'utf8');
  const archive = readFileSync(new URL('archive.ts', import.meta.url), 'utf8');
  const copied = [...page.matchAll(/^\$ install .*(examples\/\S+)/gm)].map(([, path]) => path);
  expect(copied).toHaveLength(3);
  for (const path of copied) expect(archive).toContain(`'${path}'`);
});

test('commands and services read the same configuration', () => {
  expect(read('etc/default')).toMatch(/^BRINE_CONFIG_DIR=\/etc\/brine$/m);
  expect(read('bin/brine')).toContain('/etc/default/brine');
  for (const unit of [MASTER, MINION]) {
    expect(valuesOf(unit, 'EnvironmentFile')).toEqual(['-/etc/default/brine']);
  }
});

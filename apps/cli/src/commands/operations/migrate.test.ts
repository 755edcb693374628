import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Printed, printedBy } from '../../printed.fixture.ts';

let dir: string;
// It loads what opens NATS and PostgreSQL, which takes seconds where nothing is compiled yet.
beforeAll(async () => {
  await import('@brine/migration');
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'migrate-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function migrate(...args: readonly string[]): Promise<Printed> {
  return printedBy(['migrate', ...args]);
}

/** A stock master's directory. */
function stock(config: string, ...shelves: readonly string[]): string {
  const home = join(dir, 'stock');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'master'), `root_dir: ${dir}\n${config}`);
  const pki = join(dir, 'etc/salt/pki/master');
  for (const shelf of shelves) mkdirSync(join(pki, shelf), { recursive: true });
  if (shelves.length > 0) writeFileSync(join(pki, 'master.pub'), 'a key\n');
  return home;
}

test.each([
  [[], 'give from-stock or to-stock'],
  [['sideways', '--stock', '/x'], 'give from-stock or to-stock'],
  [['from-stock'], 'give --stock'],
  [['to-stock', '--stock', '/x', '--start'], '--start is for from-stock alone'],
  [['from-stock', '--stock', '/x', '--dry-run', '--hand-over'], '--dry-run changes nothing'],
  [['to-stock', '--stock', '/x', '--release', 'new'], '--release is no release of Salt'],
])('%j ends with 64 and says what to do', async (args, text) => {
  const { code, err } = await migrate(...args);
  expect(code).toBe(64);
  expect(err).toContain(text);
});

test('a directory without a master file is refused in one line', async () => {
  const { code, err } = await migrate('from-stock', '--stock', dir, '-c', dir, '--dry-run');
  expect(code).toBe(1);
  expect(err).toBe(
    `brine migrate: ${dir}/master is not there: --stock names the stock master's directory\n`,
  );
});

test('a pki_dir in which no master has run is refused, and nothing is written', async () => {
  const home = stock('interface: 127.0.0.1\n');
  const { code, err } = await migrate('from-stock', '--stock', home, '-c', home);
  expect(code).toBe(1);
  expect(err).toContain('no master has run with this pki_dir');
  expect(readdirSync(dir)).toEqual(['stock']);
});

test('--dry-run tells of options and counts, and ends with 0 where nothing breaks', async () => {
  const home = stock('timeout: 30\nworker_threads: 8\n', 'minions', 'minions_pre');
  writeFileSync(join(dir, 'etc/salt/pki/master/minions/web-1'), 'a key\n');
  const before = readdirSync(dir, { recursive: true }).length;
  const { code, out, err } = await migrate('from-stock', '--stock', home, '-c', home, '--dry-run');
  expect(err).toBe('');
  expect(code).toBe(0);
  expect(out).toContain('honoured: 2\n  root_dir, timeout\n');
  expect(out).toContain("different: 1\n  Option 'worker_threads'");
  expect(out).toContain('keys: 1 accepted, 0 pending, 0 rejected, 0 denied; same directory\n');
  expect(out).toContain('jobs: 0 found\n');
  expect(readdirSync(dir, { recursive: true }).length).toBe(before);
});

test('--dry-run ends with 1 where an option breaks something', async () => {
  const home = stock('ext_pillar: [{mysql: {}}]\n', 'minions');
  const { code, out } = await migrate('from-stock', '--stock', home, '-c', home, '--dry-run');
  expect(code).toBe(1);
  expect(out).toContain("breaks: 1\n  Option 'ext_pillar' (mysql)");
});

test('--hand-over leaves the stock master alone where Brine would not start', async () => {
  const home = stock('ext_pillar: [{mysql: {}}]\n', 'minions');
  const { code, err } = await migrate('from-stock', '--stock', home, '-c', home, '--hand-over');
  expect(code).toBe(1);
  expect(err).toContain('The stock master was left alone');
});

test('another master key is refused: minions would refuse their master', async () => {
  const home = stock('', 'minions');
  const ours = join(dir, 'ours');
  mkdirSync(join(ours, 'pki'), { recursive: true });
  writeFileSync(join(ours, 'pki', 'master.pub'), 'another key\n');
  writeFileSync(join(ours, 'master'), `pki_dir: ${ours}/pki\ncachedir: ${ours}/cache\n`);
  const { code, err } = await migrate('from-stock', '--stock', home, '-c', ours, '--dry-run');
  expect(code).toBe(1);
  expect(err).toContain(`move master.pem and master.pub out of ${ours}/pki`);
});

test('keys in another place than files are refused with the reason', async () => {
  const home = stock('keys.cache_driver: mmap_key\n', 'minions');
  const { code, err } = await migrate('from-stock', '--stock', home, '-c', home, '--dry-run');
  expect(code).toBe(1);
  expect(err).toContain('its minion keys are in mmap_key');
});

test('of a cluster the keys are those of its shared directory', async () => {
  const shared = join(dir, 'shared');
  mkdirSync(join(shared, 'minions'), { recursive: true });
  for (const id of ['web-1', 'web-2']) writeFileSync(join(shared, 'minions', id), 'a key\n');
  writeFileSync(join(shared, 'cluster.pub'), 'the key of the cluster\n');
  const home = stock(`cluster_id: one\ncluster_pki_dir: ${shared}\n`);
  const ours = join(dir, 'ours');
  mkdirSync(ours);
  writeFileSync(join(ours, 'master'), `pki_dir: ${ours}/pki\ncachedir: ${ours}/cache\n`);
  const { out, err } = await migrate('from-stock', '--stock', home, '-c', ours, '--dry-run');
  expect(err).toBe('');
  expect(out).toContain('keys: 2 accepted, 0 pending, 0 rejected, 0 denied; 2 to add\n');
  expect(out).toContain('It is of a cluster: stop its peers');
});

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { BrineMaster } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { afterAll, beforeAll, expect, test } from 'vitest';

let master: BrineMaster;
let peer: TestPeer;
let web: Server;
let dir = '';
let rootKey = '';

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'brine-runner-files-'));
  chmodSync(dir, 0o755);
  for (const part of ['salt/_modules', 'salt/_runners', 'pillar', 'repository']) {
    mkdirSync(join(dir, part), { recursive: true });
  }
  writeFileSync(join(dir, 'salt/_modules/lab.py'), 'def ping():\n    return True\n');
  writeFileSync(join(dir, 'salt/top.sls'), 'base: {}\n');
  writeFileSync(join(dir, 'store.yaml'), 'db: {user: app}\n');
  git('init', '-q', '-b', 'master', '.');
  commit('first.sls');
  web = createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ path: request.url }));
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  master = await BrineMaster.start({
    file_roots: { base: [join(dir, 'salt')] },
    pillar_roots: { base: [join(dir, 'pillar')] },
    fileserver_backend: ['roots', 'gitfs'],
    gitfs_remotes: [join(dir, 'repository')],
    // Only an update brings what is new.
    gitfs_update_interval: 3_600,
    ext_pillar: [{ git: [`master ${join(dir, 'repository')}`] }],
    saltgui_templates: { ping: 'test.ping' },
    site_store: { driver: 'yaml', files: [join(dir, 'store.yaml')] },
    brine: { workers: 2 },
  });
  peer = await TestPeer.make('asker', master.home.retPort);
  const keyFile = `.${userInfo().username}_key`;
  rootKey = readFileSync(join(master.home.cacheDir, keyFile), 'utf8').trim();
}, 240_000);

afterAll(async () => {
  peer.close();
  await master.close();
  await new Promise((resolve) => web.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

function git(...args: string[]): void {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
  execFileSync('git', [...who, ...args], { cwd: join(dir, 'repository'), stdio: 'ignore' });
}

function commit(name: string): void {
  writeFileSync(join(dir, 'repository', name), `${name}: 1\n`);
  git('add', '-A');
  git('commit', '-qm', name);
}

/** What a runner returns; it must end well. */
async function run(...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await master.brine('run', [...args, '--out', 'json']);
  expect({ args, code, stderr, stdout }).toMatchObject({ code: 0 });
  return JSON.parse(stdout);
}

/** What a wheel returns, asked by a request as salt-api does. */
async function wheel(fun: string, fields: Record<string, SaltValue> = {}): Promise<SaltValue> {
  const load = mapOf({ cmd: 'wheel', fun, ...fields, key: rootKey, user: userInfo().username });
  const answer: SaltMap = unpackMap(await peer.raw(clearEnvelope(load)));
  return mapIn(answer, 'data')?.get('return') ?? answer;
}

test('files of all backends are listed, and an update reaches every worker', async () => {
  const listed = await run('fileserver.file_list');
  expect(listed).toEqual(['_modules/lab.py', 'first.sls', 'top.sls']);
  expect(await run('fileserver.envs')).toEqual(['base']);
  expect(await run('fileserver.symlink_list')).toEqual({});
  commit('second.sls');
  expect(await run('fileserver.file_list', 'base', 'gitfs')).toEqual(['first.sls']);
  expect(await run('fileserver.update')).toBe(true);
  // Either worker answers.
  for (let times = 0; times < 6; times += 1) {
    const found = await run('fileserver.file_list', 'backend=git');
    expect(found).toEqual(['first.sls', 'second.sls']);
  }
  expect(await run('fileserver.clear_cache')).toEqual({
    cleared: ['The gitfs fileserver cache was successfully cleared'],
  });
  expect(await run('fileserver.file_list', 'backend=-roots')).toEqual(['first.sls', 'second.sls']);
});

test('a lock holds until it is cleared', async () => {
  const shown = (word: string, key: string) => ({
    [key]: [expect.stringContaining(`${word} gitfs remote '${join(dir, 'repository')}'`)],
  });
  expect(await run('fileserver.lock')).toEqual(shown('Set update lock for', 'locked'));
  expect(await run('fileserver.lock')).toBe('No locks were set');
  expect(await run('cache.clear_git_lock', 'gitfs')).toEqual(
    shown('Removed update lock for', 'cleared'),
  );
  expect(await run('fileserver.clear_lock')).toBe('No locks were removed');
  const remote = `master ${join(dir, 'repository')}`;
  expect(await run('git_pillar.update')).toEqual({ [remote]: true });
  expect(await run('git_pillar.update')).toEqual({ [remote]: null });
});

test('modules are synchronised into extension_modules', async () => {
  const first = await master.brine('run', ['saltutil.sync_modules']);
  expect(first).toMatchObject({ code: 0, stdout: '- modules.lab\n' });
  const copied = join(master.home.cacheDir, 'extmods/modules/lab.py');
  expect(readFileSync(copied, 'utf8')).toContain('def ping()');
  expect(await run('saltutil.sync_modules')).toEqual([]);
  expect(await run('saltutil.sync_all')).toMatchObject({ modules: [], runners: [] });
});

test('options are shown, without the secrets of the services', async () => {
  expect(await run('config.get', 'file_roots:base:0')).toBe(join(dir, 'salt'));
  expect(await run('sdb.get', 'sdb://site_store/db:user')).toBe('app');
  const values = await wheel('config.values');
  if (!isMap(values)) throw new Error('no options');
  expect(values.get('saltgui_templates')).toEqual(mapOf({ ping: 'test.ping' }));
  expect(JSON.stringify(await run('config.get', 'brine'))).not.toMatch(/:\/\/[^*"@]+:[^*"@]+@/);
});

test('the configuration and the roots are written below their directories alone', async () => {
  const contents = { file_name: 'gui', yaml_contents: mapOf({ saltgui_motd: 'hello' }) };
  expect(await wheel('config.update_config', contents)).toBe('Wrote gui.conf');
  expect(await master.file('master.d', 'gui.conf')).toBe('saltgui_motd: hello\n');
  expect(await wheel('config.update_config', { ...contents, file_name: '../x' })).toBe(
    'Invalid path',
  );
  symlinkSync('/etc', join(dir, 'salt/out'));
  const write = (path: string) => wheel('file_roots.write', { data: 'x: 1\n', path });
  expect(await write('new/made.sls')).toBe(`Wrote data to file ${join(dir, 'salt/new/made.sls')}`);
  expect(await wheel('file_roots.read', { path: 'new/made.sls' })).toEqual([
    mapOf({ [join(dir, 'salt/new/made.sls')]: 'x: 1\n' }),
  ]);
  for (const path of ['../x', 'out/brine-made-this', 'new/../../x']) {
    expect(await write(path)).toBe(`Invalid path: ${path}`);
  }
  expect(await wheel('file_roots.read', { path: 'out/passwd' })).toEqual([]);
  expect(await wheel('pillar_roots.write', { data: 'a: 1\n', path: 'a.sls' })).toBe(
    `Wrote data to file ${join(dir, 'pillar/a.sls')}`,
  );
  const onRecord = async () => (await master.brine('run', ['audit.list', 'limit=100'])).stdout;
  await expect.poll(onRecord).toContain('file_roots.write');
  expect(await onRecord()).toContain('new/made.sls');
});

test('a pair of keys is made for a minion and accepted', async () => {
  const made = await wheel('key.gen_accept', { id_: 'made' });
  if (!isMap(made)) throw new Error('no pair');
  expect(textOf(made, 'priv')).toContain('BEGIN RSA PRIVATE KEY');
  expect(await wheel('key.gen_accept', { id_: 'made' })).toEqual(mapOf({}));
  expect(await wheel('key.list', { match: 'accepted' })).toEqual(mapOf({ minions: ['made'] }));
  const accepted = async () => (await master.brine('key', ['-l', 'acc'])).stdout;
  await expect.poll(accepted).toContain('made');
});

test('queues keep items in order, and run queued runners', async () => {
  expect(await run('queue.insert', 'hosts', "['b', 'a']")).toBe(true);
  expect(await run('queue.list_length', 'hosts')).toBe(2);
  expect(await run('queue.insert', 'hosts', 'a')).toContain('Item already exists');
  expect(await run('queue.pop', 'hosts', 'all')).toEqual(['b', 'a']);
  const queue = ['queue=runs', 'backend=pgjsonb'];
  await run('queue.insert_runner', 'test.arg', 'args=x,y', ...queue);
  expect(await run('queue.list_items', 'runs', 'pgjsonb')).toEqual([
    { fun: 'test.arg', args: ['x', 'y'], kwargs: {} },
  ]);
  expect(await run('queue.process_runner', ...queue)).toBe(null);
  expect(await run('queue.list_queues', 'pgjsonb')).toEqual([]);
});

test('a web server is asked, and events are fired', async () => {
  const { port } = web.address() as AddressInfo;
  const asked = ['http.query', `http://127.0.0.1:${port}/x`, 'decode=True', 'status=True'];
  expect(await run(...asked)).toEqual({ body: '{"path":"/x"}', status: 200, dict: { path: '/x' } });
  expect(await run('event.send', 'lab/runner', '{"a": 1}')).toBe(true);
  expect(await run('network.wol', '08:00:27:13:69:77', '127.0.0.1')).toBe(true);
});

test('what is not served says so in one line, and exits with 1', async () => {
  const { code, stdout, stderr } = await master.brine('run', ['ssh.cmd', '*', 'test.ping']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toMatch(/^ssh\.cmd is not served: [^\n]+\n$/);
  const docs = await master.brine('run', ['-d', 'ssh']);
  expect(docs.stdout).not.toContain('ssh.cmd:');
  expect(Object.keys((await run('doc.runner')) as object)).toContain('fileserver.update');
});

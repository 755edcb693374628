import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { stateFile } from '@brine/service/processes';
import { afterEach, beforeEach, expect, test } from 'vitest';

// Not Salt's own: another master may have those while tests run.
const NO_PORTS = 'publish_port: 0\nret_port: 0\n';
const MASTER = new URL('./run-master.ts', import.meta.url).pathname;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-master-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function run(
  config: string,
  more: object = {},
): Promise<{ code: number | string; stderr: string }> {
  writeFileSync(join(dir, 'master'), config);
  const script = `
    const { runMaster } = await import(process.argv[1]);
    process.exit(await runMaster({ configDir: process.argv[2], ...JSON.parse(process.argv[3]) }));`;
  const tsx = ['--import', 'tsx', '--conditions=source'];
  const args = [...tsx, '--input-type=module', '-e', script, MASTER, dir, JSON.stringify(more)];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, _stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    );
  });
}

test('a configuration that is no YAML ends it with the words of Salt', async () => {
  const { code, stderr } = await run('a: [1, 2\nb: 3\n');
  expect(code).toBe(1);
  expect(stderr).toContain(`[ERROR   ] Error parsing configuration file: ${dir}/master - `);
});

test('a form of log lines that can not be used ends it with the name of the option', async () => {
  const { code, stderr } = await run(
    `root_dir: ${dir}\n${NO_PORTS}log_fmt_console: '%(nobody)s'\n`,
  );
  expect(code).toBe(1);
  expect(stderr).toContain("log_fmt_console: unknown name 'nobody' in '%(nobody)s'");
});

test('options without which work would be lost end it, all of them named at once', async () => {
  const lost = 'reactor: [{a: [b]}]\next_pillar: [{mysql: {}}]\nrunner_dirs: [/srv/runners]\n';
  const { code, stderr } = await run(`root_dir: ${dir}\n${lost}`);
  expect(code).toBe(1);
  expect(stderr).toContain(`Option 'reactor' in ${dir}/master, line 2, is not in force`);
  expect(stderr).toContain('accept_ignored: ["reactor", "ext_pillar:mysql", "runner_dirs"]');
  expect(existsSync(join(dir, 'var'))).toBe(false);
});

test('root does not stay root where the file names another user', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('this is not root');
  const { code, stderr } = await run(`root_dir: ${dir}\nuser: nobody\n`);
  expect(code).toBe(1);
  expect(stderr).toContain('user is nobody, and this process is root');
  expect(stderr).toContain('systemd: User=nobody');
  // Nothing was written by root that the user would have to own.
  expect(existsSync(join(dir, 'var'))).toBe(false);
});

test('a second master on the same cachedir is refused', async () => {
  const config = `root_dir: ${dir}\n${NO_PORTS}`;
  writeFileSync(join(dir, 'master'), config);
  const path = stateFile(loadMasterConfig({ configDir: dir, env: {} }).options.brine.stateDir);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ pid: process.pid, startedAt: '', services: [] }));
  const { code, stderr } = await run(config);
  expect(code).toBe(4);
  expect(stderr).toContain(`a master runs on this cachedir already (pid ${process.pid})`);
});

test('a master whose port is taken ends with 4 before it writes anything', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const { code, stderr } = await run(
    `root_dir: ${dir}\ninterface: 127.0.0.1\n${NO_PORTS.replace('0', String(port))}`,
  );
  await once(holder.close(), 'close');
  expect(code).toBe(4);
  expect(stderr).toContain('Not started, is there another master running?');
  expect(stderr).toContain(`port ${port} of 127.0.0.1 is taken by process ${process.pid} (`);
  expect(readdirSync(dir)).toEqual(['master']);
});

test('--pid-file is the pid file: one that names a living master is left alone', async () => {
  const other = spawn('sleep', ['1000'], { argv0: 'salt-master' });
  await once(other, 'spawn');
  const pidFile = join(dir, 'named.pid');
  writeFileSync(pidFile, String(other.pid));
  const { code, stderr } = await run(`root_dir: ${dir}\n${NO_PORTS}`, { pidFile });
  other.kill();
  expect(code).toBe(4);
  expect(stderr).toContain(`${pidFile} names process ${other.pid} (salt-master)`);
  expect(readFileSync(pidFile, 'utf8')).toBe(String(other.pid));
});

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@brine/testing/waits';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseServiceArguments } from './arguments.ts';
import { startHealth } from './health.ts';

const SERVICE = fileURLToPath(new URL('../fixtures/service.mjs', import.meta.url));

let dir: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-service-'));
});

afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

interface Started {
  readonly port: Promise<number>;
  readonly exit: Promise<number | null>;
  readonly stderr: () => string;
  readonly process: ChildProcess;
}

function start(config: string, env: Record<string, string> = {}): Started {
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\nlog_level: info\n${config}`);
  const args = ['--import', 'tsx', '--conditions=source', SERVICE, '-c', dir];
  const started = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  child = started;
  let stderr = '';
  started.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const port = new Promise<number>((resolve) => {
    started.once('message', (message) => resolve((message as { healthPort: number }).healthPort));
  });
  // Not 'close': Node does not tell it where the parent has closed the channel.
  const ended = new Promise((resolve) => started.stderr?.once('end', resolve));
  const exited = new Promise<number | null>((resolve) => started.once('exit', resolve));
  const exit = ended.then(() => exited);
  return { port, exit, stderr: () => stderr, process: started };
}

describe('a service process', () => {
  test('says when it is ready, answers probes, and closes in order at SIGTERM', async () => {
    const { port, exit, stderr, process: started } = start('');
    const base = `http://127.0.0.1:${await port}`;
    const get = async (path: string) => {
      const response = await fetch(base + path);
      return { code: response.status, body: await response.text() };
    };
    expect(await get('/healthz')).toEqual({ code: 200, body: 'live\n' });
    expect(await get('/readyz')).toEqual({ code: 200, body: 'ready\n' });
    expect((await get('/metrics')).body).toContain(
      '\nfixture_served_total{service="fixture",replica="fixture"} 1\n',
    );
    expect((await get('/metrics')).body).toContain('# TYPE process_resident_memory_bytes gauge');
    expect((await get('/metrics')).body).toMatch(/^process_max_fds\{.*\} ([1-9]\d+|\+Inf)$/m);
    expect(JSON.parse((await get('/status')).body)).toMatchObject({ name: 'fixture', served: 1 });
    expect((await get('/other')).code).toBe(404);
    started.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(stderr()).toContain('closed in order');
  });

  test('forgets its passwords once they are read, and names what children get', async () => {
    const url = 'nats://user:secret@127.0.0.1:4222';
    const secrets = {
      NATS_URL: url,
      DATABASE_URL: 'postgres://user:secret@127.0.0.1/brine',
      PGPASSWORD: 'secret',
      BRINE_SDB: '{}',
      OTEL_EXPORTER_OTLP_HEADERS: 'key=secret',
    };
    const { port } = start('brine: {child_environment: [AWS_*]}\n', {
      ...secrets,
      PGSSLMODE: 'require',
      AWS_PROFILE: 'site',
    });
    const response = await fetch(`http://127.0.0.1:${await port}/status`);
    const { given, left } = (await response.json()) as { given: string; left: string[] };
    expect(given).toBe(url);
    const kept = ['PATH', 'PGSSLMODE', 'AWS_PROFILE', 'BRINE_CHILD_ENVIRONMENT'];
    expect(left).toEqual(expect.arrayContaining(kept));
    expect(left.filter((name) => Object.hasOwn(secrets, name))).toEqual([]);
  });

  test('whose event loop is blocked is ended, and its log says so', async () => {
    const { port, exit, stderr } = start('', { BLOCK: '1' });
    await port;
    expect(await exit).toBe(null);
    expect(stderr()).toContain('the event loop is blocked, ending this process');
  }, 120_000);

  const LOST = 'worker_threads: 40\nssl: true\nbrine: {accept_ignored: [ssl]}\n';

  test('that is started alone says what of its options is not in force, once each', async () => {
    const { port, stderr, exit, process: started } = start(LOST);
    await port;
    started.kill('SIGTERM');
    await exit;
    expect(stderr().match(/Option 'worker_threads' in [^ ]+master, line 3, is not/g)).toHaveLength(
      1,
    );
    expect(stderr().match(/Option 'ssl' .* \(accepted by brine\.accept_ignored\)/g)).toHaveLength(
      1,
    );
  });

  test('leaves that to its supervisor', async () => {
    const { port, stderr, exit, process: started } = start(LOST, { BRINE_SUPERVISED: '1' });
    await port;
    started.kill('SIGTERM');
    await exit;
    expect(stderr()).toContain('stopping');
    expect(stderr()).not.toContain('worker_threads');
  });

  test.each([{}, { BRINE_SUPERVISED: '1' }])(
    'does not start where work would be lost without a word: %j',
    async (env) => {
      const { stderr, exit } = start('ssl: true\nrunner_dirs: [/srv/runners]\n', env);
      expect(await exit).toBe(78);
      expect(stderr()).toContain('accept_ignored: ["ssl", "runner_dirs"]');
    },
  );

  test('whose supervisor dies while it starts ends too', async () => {
    const { exit, stderr, process: started } = start('');
    started.disconnect();
    expect(await exit).toBe(0);
    expect(stderr()).toContain('supervisor gone');
    expect(stderr()).not.toContain('closed in order');
  });

  test('a hang-up does not end it: its supervisor decides', async () => {
    const { port, exit, stderr, process: started } = start('');
    const base = `http://127.0.0.1:${await port}`;
    started.kill('SIGHUP');
    expect((await fetch(`${base}/readyz`)).status).toBe(200);
    started.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(stderr()).toContain('closed in order');
  });

  test('tells its supervisor what it has in hand', async () => {
    const { port, process: started } = start('');
    await port;
    const report = new Promise((resolve) => {
      started.on('message', (message) => {
        if ((message as { type: string }).type === 'dump') resolve(message);
      });
    });
    started.send('dump');
    expect(await report).toMatchObject({
      facts: { ready: true, status: { served: 1 }, rssMb: expect.any(Number) },
    });
  });

  test('leaves when its supervisor is gone', async () => {
    const { port, exit, process: started } = start('');
    await port;
    started.disconnect();
    expect(await exit).toBe(0);
  });

  test('leaves with 1 when it can not close in time', async () => {
    const { port, exit, process: started } = start('brine:\n  stop_deadline: 0.2\n', { HANG: '1' });
    await port;
    started.kill('SIGTERM');
    expect(await exit).toBe(1);
  });

  test('a second signal ends it at once', async () => {
    const { port, exit, stderr, process: started } = start('', { HANG: '1' });
    await port;
    started.kill('SIGTERM');
    await until('it says that it stops', () => stderr().includes('stopping'));
    started.kill('SIGTERM');
    expect(await exit).toBe(130);
  });

  test('a configuration that can not be used ends it with a clear line', async () => {
    const { exit, stderr } = start('ret_port: many\n');
    expect(await exit).toBe(78);
    expect(stderr().trim()).toBe(
      `Option 'ret_port' in ${dir}/master, line 3, must be a whole number from 0 to 65535`,
    );
  });
});

test('a service does not stay root where the file names another user', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('this is not root');
  const { exit, stderr } = start('user: nobody\n');
  expect(await exit).toBe(78);
  expect(stderr()).toContain('user is nobody, and this process is root');
});

test('arguments are -c and -l, and a level that Salt has not is refused', () => {
  expect(parseServiceArguments(['-c', '/x', '-l', 'debug'])).toEqual({
    configDir: '/x',
    logLevel: 'debug',
  });
  expect(() => parseServiceArguments(['-l', 'loud'])).toThrow("invalid log level 'loud'");
});

test('a health endpoint survives a status that throws', async () => {
  const source = {
    ready: () => false,
    metrics: () => Promise.resolve(''),
    status: () => {
      throw new Error('not now');
    },
  };
  const health = await startHealth(source, { host: '127.0.0.1', port: 0 });
  const response = await fetch(`http://127.0.0.1:${health.port}/status`);
  expect([response.status, await response.text()]).toEqual([500, 'not now\n']);
  expect((await fetch(`http://127.0.0.1:${health.port}/readyz`)).status).toBe(503);
  await health.close();
});

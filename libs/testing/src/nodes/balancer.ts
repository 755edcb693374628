import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DebianPrograms, debianPrograms } from '../debian-programs.ts';
import { freePorts, SaltProcess, waitForPort } from '../salt/index.ts';

const START_MS = 30_000;

/** Thrown if there is no HAProxy and none can be installed; the message has the reason. */
export class HaproxyMissingError extends Error {
  override readonly name = 'HaproxyMissingError';
  readonly code = 'TEST_HAPROXY';
}

const HAPROXY: DebianPrograms<'haproxy'> = {
  package: 'haproxy',
  names: ['haproxy'],
  libraries: /^lib(?:lua|opentracing)/,
  versionArgument: '-v',
  site: 'https://www.haproxy.org',
  missing: (text, more) => new HaproxyMissingError(text, more),
};

/** The settings of a balancer. */
export interface BalancerOptions {
  /** Possible addresses of hosts of the fleet; absent hosts are detected by their ports. */
  readonly hosts: readonly string[];
  /** A connection without traffic for this long is cut, in ms. */
  readonly idleMs: number;
}

/** An HAProxy with both ports of a master, on 127.0.0.1, before the same ports of other hosts. */
export interface Balancer extends AsyncDisposable {
  readonly publishPort: number;
  readonly retPort: number;
  /** Connections that were cut for lack of traffic, and all that have ended, so far. */
  cut(): Promise<{ readonly idle: number; readonly ended: number }>;
  close(): Promise<void>;
}

/**
 * Starts Debian's HAProxy: round robin, health by connecting, idle connections cut.
 * @throws HaproxyMissingError
 */
export async function startBalancer(options: BalancerOptions): Promise<Balancer> {
  const { paths, env } = await debianPrograms(HAPROXY, process.env);
  const dir = await mkdtemp(join(tmpdir(), 'brine-haproxy-'));
  const [publishPort = 0, retPort = 0] = await freePorts(2);
  const config = join(dir, 'haproxy.cfg');
  await writeFile(config, configOf({ ...options, publishPort, retPort }));
  const server = SaltProcess.start({
    command: paths.haproxy,
    args: ['-db', '-f', config],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    logFile: join(dir, 'log'),
  });
  const close = async (): Promise<void> => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    for (const port of [publishPort, retPort]) await waitForPort(port, START_MS);
  } catch (cause) {
    const log = await server.log();
    await close();
    throw new Error(`HAProxy did not start: ${log.slice(-2_000)}`, { cause });
  }
  return {
    publishPort,
    retPort,
    cut: async () => {
      // The state in which a connection ended: a leading c or s is a time-out of that side.
      const ends = [...(await server.log()).matchAll(/ended publish (\S\S) /g)];
      return {
        idle: ends.filter(([, state]) => /^[cs]/.test(state ?? '')).length,
        ended: ends.length,
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * HAProxy's verdict on a configuration file; resolves also if it finds fault.
 * @throws HaproxyMissingError
 */
export async function checkBalancer(
  file: string,
): Promise<{ readonly code: number; readonly output: string }> {
  const { paths, env } = await debianPrograms(HAPROXY, process.env);
  return new Promise((resolve, reject) => {
    const settings = { env: { ...process.env, ...env } };
    execFile(paths.haproxy, ['-c', '-f', file], settings, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, output: stdout + stderr });
      else reject(new Error('HAProxy did not end', { cause: error }));
    });
  });
}

function configOf(
  options: BalancerOptions & { readonly publishPort: number; readonly retPort: number },
): string {
  const { hosts, idleMs, publishPort, retPort } = options;
  const door = (name: string, port: number): string[] => [
    `listen ${name}`,
    `  bind 127.0.0.1:${port}`,
    `  log-format "ended ${name} %ts %B"`,
    ...hosts.map(
      (host, index) => `  server host-${index} ${host}:${port} check inter 200 fall 1 rise 1`,
    ),
  ];
  return [
    'global',
    '  maxconn 4000',
    '  log stdout format raw local0 info',
    'defaults',
    '  mode tcp',
    '  log global',
    '  balance leastconn',
    '  option redispatch',
    '  retries 5',
    '  timeout connect 2s',
    `  timeout client ${idleMs}ms`,
    `  timeout server ${idleMs}ms`,
    ...door('publish', publishPort),
    ...door('requests', retPort),
    '',
  ].join('\n');
}

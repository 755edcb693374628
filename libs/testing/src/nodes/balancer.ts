import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DebianPrograms, debianPrograms } from '../debian-programs.ts';
import { freePorts, SaltProcess, waitForPort } from '../salt/index.ts';

const START_MS = 30_000;
/** Longer than a stream is without a word, ms. */
const HTTP_IDLE_MS = 120_000;

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
  const [publishPort = 0, retPort = 0] = await freePorts(2);
  const config = configOf({ ...options, publishPort, retPort });
  const { log, close } = await startHaproxy(config, [publishPort, retPort]);
  return {
    publishPort,
    retPort,
    cut: async () => {
      // The state in which a connection ended: a leading c or s is a time-out of that side.
      const ends = [...(await log()).matchAll(/ended publish (\S\S) /g)];
      return {
        idle: ends.filter(([, state]) => /^[cs]/.test(state ?? '')).length,
        ended: ends.length,
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** An HAProxy before several http-api processes of this host. */
export interface HttpBalancer extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts Debian's HAProxy before http-api processes, each at one of the ports.
 * @param mode `tcp`: a connection stays with one of them; `http`: each request goes to either
 * @throws HaproxyMissingError
 */
export async function startHttpBalancer(
  mode: 'tcp' | 'http',
  ports: readonly number[],
): Promise<HttpBalancer> {
  const [port = 0] = await freePorts(1);
  const config = [
    ...headOf(mode, HTTP_IDLE_MS),
    'listen http-apis',
    `  bind 127.0.0.1:${port}`,
    ...ports.map((to, at) => serverLine(`http-api-${at}`, '127.0.0.1', to)),
    '',
  ].join('\n');
  const { close } = await startHaproxy(config, [port]);
  return { port, close, [Symbol.asyncDispose]: close };
}

interface Started {
  readonly log: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Starts HAProxy with a configuration; resolves when these ports are open. */
async function startHaproxy(config: string, ports: readonly number[]): Promise<Started> {
  const { paths, env } = await debianPrograms(HAPROXY, process.env);
  const dir = await mkdtemp(join(tmpdir(), 'brine-haproxy-'));
  const file = join(dir, 'haproxy.cfg');
  await writeFile(file, config);
  const server = SaltProcess.start({
    command: paths.haproxy,
    args: ['-db', '-f', file],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    logFile: join(dir, 'log'),
  });
  const close = async (): Promise<void> => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    for (const port of ports) await waitForPort(port, START_MS);
  } catch (cause) {
    const log = await server.log();
    await close();
    throw new Error(`HAProxy did not start: ${log.slice(-2_000)}`, { cause });
  }
  return { log: () => server.log(), close };
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
    ...hosts.map((host, index) => serverLine(`host-${index}`, host, port)),
  ];
  return [
    ...headOf('tcp', idleMs),
    ...door('publish', publishPort),
    ...door('requests', retPort),
    '',
  ].join('\n');
}

function headOf(mode: 'tcp' | 'http', idleMs: number): readonly string[] {
  return [
    'global',
    '  maxconn 4000',
    '  log stdout format raw local0 info',
    'defaults',
    `  mode ${mode}`,
    '  log global',
    '  balance leastconn',
    '  option redispatch',
    '  retries 5',
    '  timeout connect 2s',
    `  timeout client ${idleMs}ms`,
    `  timeout server ${idleMs}ms`,
  ];
}

function serverLine(name: string, host: string, port: number): string {
  return `  server ${name} ${host}:${port} check inter 200 fall 1 rise 1`;
}

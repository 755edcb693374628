import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemUser } from '../master-config.ts';

/** The minions of the demonstration. */
export const DEMO_MINIONS: readonly string[] = ['one.demo', 'two.demo'];

/** Everything the demonstration keeps on disk. */
export interface DemoDirectory {
  /** The directory for `-c`, with the master's configuration. */
  readonly root: string;
  readonly masterLog: string;
  readonly minionLog: (id: string) => string;
  readonly minionConfig: (id: string) => string;
  remove(): void;
}

/**
 * Makes a private directory with the configuration of a master and of two minions, on free ports of
 * the loopback. Other users may enter it: under root, PostgreSQL runs as another user.
 */
export async function makeDemoDirectory(): Promise<DemoDirectory> {
  const root = mkdtempSync(join(tmpdir(), 'brine-demo-'));
  chmodSync(root, 0o711);
  const [publishPort, retPort, httpPort] = await freePorts(3);
  const minionRoot = (id: string): string => join(root, id);
  for (const dir of ['cache', 'sock', 'pki', 'log']) {
    mkdirSync(join(root, dir), { mode: dir === 'pki' ? 0o700 : 0o711 });
  }
  const master = {
    interface: '127.0.0.1',
    publish_port: publishPort,
    ret_port: retPort,
    user: systemUser(),
    root_dir: root,
    pki_dir: join(root, 'pki'),
    cachedir: join(root, 'cache'),
    sock_dir: join(root, 'sock'),
    pidfile: join(root, 'master.pid'),
    log_file: join(root, 'log', 'master'),
    gather_job_timeout: 5,
    // What the pages of the console may run, with the rights of who is logged in.
    netapi_enable_clients: ['local', 'local_async', 'runner', 'runner_async', 'wheel'],
    brine: { http: { port: httpPort } },
  };
  writeFileSync(join(root, 'master'), yaml(master));
  for (const id of DEMO_MINIONS) {
    const own = minionRoot(id);
    mkdirSync(own, { mode: 0o700 });
    const minion = {
      id,
      master: '127.0.0.1',
      master_port: retPort,
      publish_port: publishPort,
      user: systemUser(),
      root_dir: own,
      pki_dir: join(own, 'pki'),
      cachedir: join(own, 'cache'),
      sock_dir: join(own, 'sock'),
      pidfile: join(own, 'minion.pid'),
      log_file: join(own, 'log'),
      acceptance_wait_time: 1,
    };
    writeFileSync(join(own, 'minion'), yaml(minion));
  }
  return {
    root,
    masterLog: join(root, 'log', 'console'),
    minionLog: (id) => join(minionRoot(id), 'console'),
    minionConfig: minionRoot,
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}

function yaml(options: Readonly<Record<string, string | number | object | undefined>>): string {
  // JSON is YAML; one line per option is easier to read.
  const lines = Object.entries(options).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `${lines.join('\n')}\n`;
}

/** Free ports. Each stays open until all are found, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer();
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, natsCertificates } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { natsConf } from './conf.ts';
import { resolveNatsServer } from './resolve.ts';

/*
 * The servers of a cluster take each other by certificate. A server may do everything,
 * so a service's own certificate must not be enough.
 */

let dir: string;
let binary: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  binary = await resolveNatsServer({ env: process.env });
  dir = mkdtempSync(join(tmpdir(), 'brine-cluster-'));
  await natsCertificates(dir).init([], 1);
}, 600_000);
afterAll(async () => {
  await Promise.all(
    children.map(async (child) => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGKILL')) await gone;
    }),
  );
  rmSync(dir, { recursive: true, force: true });
});

interface Node {
  readonly name: string;
  readonly port: number;
  readonly routes: number;
  readonly monitor: number;
}

function start(node: Node, all: readonly Node[], certificate: string): void {
  const path = (end: string): string => join(dir, `${node.name}.${end}`);
  const text = natsConf({
    port: node.port,
    monitorPort: node.monitor,
    storeDir: path('store'),
    serverName: node.name,
    certificates: join(dir, certificate),
    cluster: {
      name: 'brine',
      port: node.routes,
      routes: all.map(({ routes }) => `nats-route://127.0.0.1:${routes}`),
    },
  });
  writeFileSync(path('conf'), text);
  children.push(spawn(binary, ['-c', path('conf'), '-l', path('log')], { stdio: 'ignore' }));
}

/** The servers that one has taken for such. */
async function taken({ monitor }: Node): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${monitor}/routez`).catch(() => undefined);
  const { routes } = ((await answer?.json()) ?? {}) as { routes?: { remote_name: string }[] };
  return [...new Set((routes ?? []).map(({ remote_name: name }) => name))].sort();
}

const logOf = ({ name }: Node): string => {
  try {
    return readFileSync(join(dir, `${name}.log`), 'utf8');
  } catch {
    return ''; // Not begun.
  }
};

test('servers take each other, and no peer with the certificate of a service', async () => {
  const ports = await freePorts(12);
  const nodes = ['one', 'two', 'gateway', 'admin'].map((name, at) => {
    const [port = 0, routes = 0, monitor = 0] = ports.slice(3 * at);
    return { name, port, routes, monitor };
  });
  const [one, two, gateway, admin] = nodes as [Node, Node, Node, Node];
  start(one, [one, two], 'nats');
  start(two, [one, two], 'nats');
  await expect.poll(() => taken(one), { timeout: 60_000 }).toEqual(['two']);
  start(gateway, [one], 'req-gateway');
  start(admin, [two], 'admin');
  for (const [asked, asker] of [
    [one, gateway],
    [two, admin],
  ] as const) {
    await expect
      .poll(() => logOf(asked), { timeout: 60_000 })
      .toMatch(/rid:\d+ - authentication error/);
    await expect.poll(() => taken(asker), { timeout: 60_000 }).toEqual([]);
  }
  expect(await taken(one)).toEqual(['two']);
  expect(await taken(two)).toEqual(['one']);
});

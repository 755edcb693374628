import { mkdirSync, writeFileSync } from 'node:fs';
import { cp, readdir, rmdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { debianTree, OwnHost, unpackTree } from '@brine/testing/hosts';
import { until } from '@brine/testing/waits';

const PACKAGES = ['docker.io', 'docker-cli', 'docker-compose', 'docker-buildx', 'iptables'];
const MORE = ['iproute2', 'ca-certificates', 'procps'];
const START_MS = 60_000;
const COMMAND_MS = 1_800_000;

const NOT_SOURCES = new Set(['.git', '.nx', 'coverage', 'dist', 'node_modules']);

/** Address of the resolver in an isolated host: slirp4netns sets it. */
const RESOLVER = '10.0.2.3';

const INIT = (group: string): string => `#!/bin/sh
set -e
i=0
while [ $i -lt 300 ] && ! ip link show tap0 >/dev/null 2>&1; do sleep 0.1; i=$((i + 1)); done
echo 1 >/proc/sys/net/ipv4/ip_forward
update-alternatives --set iptables /usr/sbin/iptables-nft
exec dockerd --data-root /docker --storage-driver overlay2 --ip6tables=false \\
  --cgroup-parent ${group}
`;

/**
 * Docker Engine from Debian packages, isolated from this machine's network, mounts and processes.
 */
export class Engine implements AsyncDisposable {
  readonly #host: OwnHost;
  readonly #work: string;
  readonly #group: string;

  private constructor(host: OwnHost, work: string, group: string) {
    this.#host = host;
    this.#work = work;
    this.#group = group;
  }

  /**
   * @param repository copied to /tree there, so that all images have the same sources
   * @param work an empty directory on a disk with room; mounted there as /shared
   * @throws HostLacksError
   */
  static async start(repository: string, work: string): Promise<Engine> {
    const root = join(work, 'engine');
    await unpackTree(await debianTree({ suite: 'trixie', packages: [...PACKAGES, ...MORE] }), root);
    const group = `/brine-containers-${process.pid}`;
    writeFileSync(join(root, 'begin'), INIT(group), { mode: 0o755 });
    writeFileSync(join(root, 'etc/resolv.conf'), `nameserver ${RESOLVER}\n`);
    const [docker, shared, tree] = [join(work, 'docker'), join(work, 'shared'), join(work, 'tree')];
    mkdirSync(docker);
    mkdirSync(shared);
    await cp(repository, tree, {
      recursive: true,
      filter: (path) => !NOT_SOURCES.has(basename(path)) && !path.endsWith('.log'),
    });
    const host = await OwnHost.start({
      root,
      hostname: 'engine',
      init: ['/begin'],
      network: true,
      cgroups: 'shared',
      log: join(work, 'dockerd.log'),
      mounts: [
        { from: docker, to: '/docker' },
        { from: shared, to: '/shared', readOnly: true },
        { from: tree, to: '/tree', readOnly: true },
      ],
    });
    const engine = new Engine(host, shared, group);
    try {
      await until('the engine answers', () => engine.docker(['version']), { withinMs: START_MS });
    } catch (error) {
      await engine.stop();
      throw error;
    }
    return engine;
  }

  /** Directory for files of the engine. */
  get shared(): string {
    return this.#work;
  }

  /** The path in the engine for a path of `shared`. */
  seen(path: string): string {
    return join('/shared', relative(this.#work, path));
  }

  /**
   * Runs `docker`; returns its output.
   * @throws Error if its exit code is not 0
   */
  docker(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.#host.must(['docker', ...args], { env, timeoutMs: COMMAND_MS });
  }

  /** Runs any program of the engine's host; returns its exit code and output. */
  run(command: readonly string[]): ReturnType<OwnHost['run']> {
    return this.#host.run(command);
  }

  /** Ends the engine and all containers. */
  async stop(): Promise<void> {
    await this.#host.stop();
    await this.#removeGroups();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Removes control groups of containers that did not end by themselves. */
  async #removeGroups(): Promise<void> {
    for (const hierarchy of await readdir('/sys/fs/cgroup')) {
      const top = join('/sys/fs/cgroup', hierarchy, this.#group);
      const found = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => []);
      const inner = found
        .filter((entry) => entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort((one, other) => other.length - one.length);
      // Its processes may still be ending.
      for (const path of [...inner, top]) {
        await until(`${path} has no process`, () => removed(path));
      }
    }
  }
}

/** Some hierarchies have no such group to remove. */
async function removed(path: string): Promise<true> {
  try {
    await rmdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
  }
  return true;
}

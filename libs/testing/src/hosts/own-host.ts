import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debianPrograms } from '../debian-programs.ts';
import { until } from '../waits/until.ts';
import { HostLacksError } from './debian-tree.ts';

const START_MS = 30_000;
const RUN_MS = 120_000;
const OUTPUT_MAX = 8 * 1024 * 1024;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The settings of a host of its own. */
export interface OwnHostOptions {
  /** A Debian tree, unpacked: the host's `/`. It is changed as a disk is. */
  readonly root: string;
  readonly hostname: string;
  /** The first process, below `root`. */
  readonly init: readonly string[];
  /** Directories of this machine, each with its place in the host. */
  readonly mounts?: readonly {
    readonly from: string;
    readonly to: string;
    readonly readOnly?: boolean;
  }[];
  /** True for connections out to the network of this machine, none in. */
  readonly network?: boolean;
  /**
   * `own`: one hierarchy (v2) that begins with this host, for systemd. `shared`: those of this
   * machine, for the limits of a container engine.
   */
  readonly cgroups: 'own' | 'shared';
  /** The file for the output of the first process. */
  readonly log: string;
}

/** The output of a program, and its exit code; a signal counts as -1. */
export interface HostOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A host in namespaces of its own: mounts, processes, network, names, IPC. Its changes stay there,
 * and all of it ends with this process.
 */
export class OwnHost implements AsyncDisposable {
  readonly #options: OwnHostOptions;
  readonly #children: ChildProcess[] = [];
  #group: string | undefined;
  #inner = 0;

  private constructor(options: OwnHostOptions) {
    this.#options = options;
  }

  /** @throws HostLacksError if this machine does not let a process have namespaces */
  static async start(options: OwnHostOptions): Promise<OwnHost> {
    const host = new OwnHost(options);
    try {
      await host.#start();
    } catch (error) {
      await host.stop();
      throw error;
    }
    return host;
  }

  /** Runs a program there and waits for its end. Never rejects for an exit code. */
  run(
    command: readonly string[],
    more: {
      readonly env?: Readonly<Record<string, string>>;
      readonly timeoutMs?: number;
      readonly onOutput?: (text: string) => void;
    } = {},
  ): Promise<HostOutput> {
    const child = this.#enter(command, more.env ?? {});
    const timer = setTimeout(() => child.kill('SIGKILL'), more.timeoutMs ?? RUN_MS);
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(-OUTPUT_MAX);
      more.onOutput?.(text);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-OUTPUT_MAX);
      more.onOutput?.(text);
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(timer);
        resolve({ code: code ?? -1, stdout, stderr });
      });
    });
  }

  /**
   * As `run`, but an exit code is an error.
   * @throws Error with the end of the program's output
   */
  async must(...args: Parameters<OwnHost['run']>): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code === 0) return stdout;
    const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-20).join('\n');
    throw new Error(`${args[0].join(' ')} ended with ${code}: ${output}`);
  }

  /** Ends all processes of the host. Idempotent. */
  async stop(): Promise<void> {
    const ended = this.#children.splice(0).map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    });
    await Promise.all(ended);
    const group = this.#group;
    this.#group = undefined;
    if (group !== undefined) await removeGroups(group);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(): Promise<void> {
    const { root, hostname, init, mounts = [], cgroups, log, network = false } = this.#options;
    this.#group =
      cgroups === 'own' ? await ownGroup(`brine-${process.pid}-${hostname}`) : undefined;
    // Making the tree wrote its host's name into it, which systemd would use.
    await writeFile(join(root, 'etc/hostname'), `${hostname}\n`);
    const binds: string[] = [];
    for (const { from, to, readOnly } of mounts) {
      await mkdir(join(root, to), { recursive: true });
      binds.push(from, to, readOnly === true ? 'ro' : 'rw');
    }
    const file = openSync(log, 'a');
    const begin = fileURLToPath(new URL('../../hosts/begin.sh', import.meta.url));
    const env = { PATH, ROOT: root, NAME: hostname, GROUP: this.#group ?? '' };
    const args = [begin, String(mounts.length), ...binds, ...init];
    const child = spawn('sh', args, { env, stdio: ['ignore', file, file] });
    closeSync(file);
    this.#children.push(child);
    const ended = new Promise<never>((_, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error('it ended at once')));
    });
    // An early end is reported during the start; later a stop ends it.
    ended.catch(() => undefined);
    try {
      const first = until('its first process', () => firstChild(child.pid));
      this.#inner = await Promise.race([first, ended]);
      if (network) await Promise.race([this.#connect(), ended]);
      const begun = until('its own root', () => rootIsOwn(this.#inner, root), {
        withinMs: START_MS,
      });
      await Promise.race([begun, ended]);
    } catch (cause) {
      if (cause instanceof HostLacksError) throw cause;
      const output = readFileSync(log, 'utf8').trim().split('\n').slice(-3).join(' | ');
      const why = `${(cause as Error).message}; ${output}`;
      throw new HostLacksError(`no host of its own could be started here: ${why}`, { cause });
    }
  }

  /** A user-mode network: no interface and no rule of this machine changes. */
  async #connect(): Promise<void> {
    const { paths, env } = await debianPrograms(
      {
        package: 'slirp4netns',
        names: ['slirp4netns'],
        libraries: /^libslirp0/,
        site: 'https://github.com/rootless-containers/slirp4netns',
        missing: (text, more) => new HostLacksError(text, more),
      },
      process.env,
    );
    const file = openSync(`${this.#options.log}.network`, 'a');
    const args = ['--configure', '--mtu=65520', '--disable-host-loopback'];
    const command = ['--pdeathsig', 'KILL', paths.slirp4netns, ...args];
    const child = spawn('setpriv', [...command, String(this.#inner), 'tap0'], {
      env: { PATH, ...env },
      stdio: ['ignore', file, file],
    });
    closeSync(file);
    this.#children.push(child);
    await until('the way out', () => hasTap(this.#inner), { withinMs: START_MS });
  }

  #enter(command: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
    const into = ['-t', String(this.#inner), '-m', '-p', '-n', '-u', '-i', '-r', '-w'];
    const known = { PATH, HOME: '/root', LANG: 'C.UTF-8', ...env };
    const words = Object.entries(known).map(([name, value]) => `${name}=${value}`);
    return spawn('nsenter', [...into, '--', '/usr/bin/env', '-i', ...words, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

/** The child of `unshare --fork`: the first process of the new namespace. */
function firstChild(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? undefined : Number(children.split(' ', 1)[0]);
}

/** begin.sh leaves this file when all is mounted, just before it becomes the first process. */
function rootIsOwn(inner: number, root: string): boolean {
  const begun = readFileSync(`/proc/${inner}/root/run/own-host`, 'utf8').trim();
  return begun === root;
}

function hasTap(inner: number): boolean {
  return readFileSync(`/proc/${inner}/net/dev`, 'utf8').includes('tap0:');
}

/**
 * A control group for a host, in the hierarchy of version 2.
 * @throws HostLacksError if there is no such hierarchy
 */
async function ownGroup(name: string): Promise<string> {
  const mounted = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, at] = mounted.find((line) => line.split(' ')[2] === 'cgroup2')?.split(' ') ?? [];
  if (at === undefined) throw new HostLacksError('no control groups of version 2 are mounted');
  const group = join(at, name);
  try {
    await mkdir(group, { recursive: true });
  } catch (cause) {
    throw new HostLacksError(`${group} can not be made: ${(cause as Error).message}`, { cause });
  }
  return group;
}

/** Removes control groups from the innermost out, once their processes are gone. */
async function removeGroups(group: string): Promise<void> {
  const entries = await readdir(group, { recursive: true, withFileTypes: true });
  const inner = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort((one, other) => other.length - one.length);
  for (const path of [...inner, group]) {
    await until(`${path} has no process`, () => rmdir(path).then(() => true));
  }
}

/** Returns the missing ones among programs of this machine that a host of its own needs. */
export function missingPrograms(names: readonly string[]): string[] {
  return names.filter((name) => {
    try {
      execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name], { stdio: 'ignore' });
      return false;
    } catch {
      return true; // the exit code of `command -v` is the answer
    }
  });
}

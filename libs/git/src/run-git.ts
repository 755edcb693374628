import { spawn } from 'node:child_process';
import { childEnvironment } from '@brine/environment';

/** How git is run on a repository. */
export interface GitCall {
  /** The directory of the repository, a bare one or `.git`. */
  readonly dir: string;
  /** Further variables, such as those of `accessEnvironment`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly input?: string;
}

/** Git failed; the message is the end of its output. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly code = 'BRINE_GIT';
}

const TIMEOUT_MS = 60_000;
/** Listings of the largest trees in use have some tens of MB. */
const OUTPUT_MAX_BYTES = 128 * 1024 * 1024;
const STDERR_MAX_CHARS = 4_000;
/**
 * The environment of each git that Brine runs: English messages, no prompts, and the protocols of
 * remotes alone. Others run commands (`ext::`) or read what this process has open (`fd::`), and a
 * minion may name a remote (`on_demand_ext_pillar`). The list is stronger than `protocol.allow` in
 * the files of the account.
 */
const EVERY_GIT = {
  LC_ALL: 'C',
  LANGUAGE: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
};

/**
 * Runs git without a shell. Gives its output.
 * @throws GitError where it ends badly, prints too much or takes too long.
 */
export async function runGit(args: readonly string[], call: GitCall): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await streamGit(args, call, (chunk) => {
    size += chunk.length;
    if (size > OUTPUT_MAX_BYTES) return false;
    chunks.push(chunk);
    return true;
  });
  return Buffer.concat(chunks);
}

/**
 * As {@link runGit}, but gives the output in parts; `take` returns false to end it.
 * @throws GitError as {@link runGit}
 */
export function streamGit(
  args: readonly string[],
  call: GitCall,
  take: (chunk: Buffer) => boolean | Promise<boolean>,
): Promise<void> {
  const child = spawn('git', [...args], {
    cwd: call.dir,
    env: childEnvironment(process.env, { ...EVERY_GIT, ...call.env, GIT_DIR: call.dir }),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: call.timeoutMs ?? TIMEOUT_MS,
    killSignal: 'SIGKILL',
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-STDERR_MAX_CHARS);
  });
  // A git that ends before it has read everything reports that by its exit code.
  child.stdin.on('error', () => undefined);
  child.stdin.end(call.input ?? '');
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', (cause) => reject(new GitError(cause.message, { cause })));
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new GitError(`git ${args[0] ?? ''}: ${stderr.trim() || (signal ?? code)}`));
    });
  });
  const taken = (async () => {
    for await (const chunk of child.stdout) {
      if (await take(chunk as Buffer)) continue;
      child.kill('SIGKILL');
      throw new GitError(`git ${args[0] ?? ''}: more output than is taken`);
    }
  })();
  return Promise.all([taken, ended]).then(() => undefined);
}

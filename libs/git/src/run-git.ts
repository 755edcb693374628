import { spawn } from 'node:child_process';
import { childEnvironment } from '@brine/environment';

/** How git is run for a remote. */
export interface GitCall {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly input?: string;
}

/** Git failed; the message is the end of its output. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly code = 'FILESERVER_GIT';
}

const TIMEOUT_MS = 60_000;
/** Listings of the largest trees in use have some tens of MB. */
const OUTPUT_MAX_BYTES = 128 * 1024 * 1024;
const STDERR_MAX_CHARS = 4_000;
/** English messages, and nobody who could answer. */
const NO_PROMPTS = {
  LC_ALL: 'C',
  LANGUAGE: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
};

/**
 * Runs git without a shell, with English messages and without prompts. Gives its output.
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
    cwd: call.cwd,
    env: childEnvironment(process.env, { ...NO_PROMPTS, ...call.env }),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: call.timeoutMs ?? TIMEOUT_MS,
    killSignal: 'SIGKILL',
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-STDERR_MAX_CHARS);
  });
  // A git that ends before it has read everything says so by its exit code.
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

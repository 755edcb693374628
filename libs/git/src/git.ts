import { spawnSync } from 'node:child_process';
import { childEnvironment, type Environment } from '@brine/environment';

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Git failed. */
export class GitPillarError extends Error {
  override readonly name = 'GitPillarError';
  readonly code = 'BRINE_PILLAR_GIT';
}

/** How repositories are fetched (`git_pillar_…`). */
export interface GitSettings {
  readonly cacheDir: string;
  readonly updateIntervalMs: number;
  readonly sslVerify: boolean;
  readonly user: string;
  readonly password: string;
  readonly privkey: string;
  readonly log: (level: 'error', text: string) => void;
}

/** Git in one repository, without a shell and without prompts. */
export class Git {
  readonly #dir: string;
  readonly #env: Environment;

  constructor(dir: string, settings: GitSettings) {
    this.#dir = dir;
    const ssh = settings.privkey === '' ? '' : ` -i '${settings.privkey.replaceAll("'", '')}'`;
    const basic = Buffer.from(`${settings.user}:${settings.password}`).toString('base64');
    this.#env = {
      LC_ALL: 'C',
      GIT_DIR: dir,
      GIT_TERMINAL_PROMPT: '0',
      GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
      GIT_SSH_COMMAND: `ssh -o BatchMode=yes${ssh}`,
      ...(settings.sslVerify ? {} : { GIT_SSL_NO_VERIFY: '1' }),
      // By the environment, because every user of the host can see arguments.
      ...(settings.user === ''
        ? {}
        : {
            GIT_CONFIG_COUNT: '1',
            GIT_CONFIG_KEY_0: 'http.extraHeader',
            GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
          }),
    };
  }

  /** @throws GitPillarError */
  run(args: readonly string[], env: Environment = {}): string {
    const done = spawnSync('git', args, {
      cwd: this.#dir,
      env: childEnvironment(process.env, { ...this.#env, ...env }),
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
      encoding: 'utf8',
    });
    if (done.status === 0) return done.stdout.trim();
    const why = done.error?.message ?? done.stderr.trim().slice(-1000);
    throw new GitPillarError(`git ${args[0] ?? ''}: ${why}`);
  }

  /** As {@link run}; undefined where git says no. */
  ask(args: readonly string[]): string | undefined {
    try {
      return this.run(args);
    } catch (error) {
      if (error instanceof GitPillarError) return undefined;
      throw error;
    }
  }
}

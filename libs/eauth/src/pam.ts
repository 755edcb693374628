import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { childEnvironment } from '@brine/environment';
import { type Credentials, type KnownUser, LoginError, type LoginModule } from './login-module.ts';

/** How PAM is asked. */
export interface PamOptions {
  /** `auth.pam.service`: a file of /etc/pam.d. */
  readonly service: string;
  /** The `pamtester` program. */
  readonly program: string;
}

/** A name that is safe as an argument of a program, and that a system can have. */
const NAME = /^[^-:/\s\0][^:/\s\0]{0,255}$/;

/** PAM_MAX_RESP_SIZE, with the NUL behind it: modules are given no longer answer. */
const PASSWORD_MAX_BYTES = 511;

/** `id` is local but may ask LDAP or the like for groups. */
const GROUPS_TIMEOUT_MS = 5_000;

/**
 * Users of the host through PAM (salt/auth/pam.py): authentication, then the account phase, so that
 * a locked or expired account is refused (CVE-2022-22967). PAM runs in `pamtester`, a process of
 * its own: a module that hangs or crashes harms no service. The password goes through a pipe.
 */
export class Pam implements LoginModule {
  readonly #options: PamOptions;

  constructor(options: PamOptions) {
    this.#options = options;
  }

  async check({ username, password }: Credentials, signal: AbortSignal) {
    if (!NAME.test(username) || /[\n\0]/.test(password)) return undefined;
    if (Buffer.byteLength(password) > PASSWORD_MAX_BYTES) return undefined;
    if (!(await this.#passes(username, password, signal))) return undefined;
    return { name: username, groups: await groupsOf(username) } satisfies KnownUser;
  }

  #passes(username: string, password: string, signal: AbortSignal): Promise<boolean> {
    const { program, service } = this.#options;
    const args = [service, username, 'authenticate', 'acct_mgmt'];
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        env: childEnvironment(process.env),
        stdio: ['pipe', 'ignore', 'ignore'],
        signal,
      });
      child.on('error', (cause) => {
        reject(new LoginError(`external_auth:pam: ${program} could not be run`, { cause }));
      });
      child.on('close', (code) => resolve(code === 0));
      // A service that asks for nothing has closed the pipe by then.
      child.stdin.on('error', () => undefined);
      child.stdin.end(`${password}\n`);
    });
  }
}

/** The groups of a user of the host, the primary one first (salt/utils/user.py get_group_list). */
async function groupsOf(username: string): Promise<readonly string[]> {
  const options = { env: childEnvironment(process.env), timeout: GROUPS_TIMEOUT_MS };
  try {
    const { stdout } = await promisify(execFile)('id', ['-Gn', '--', username], options);
    return stdout.trim().split(/\s+/);
  } catch {
    // Known to PAM and not to the host: no groups.
    return [];
  }
}

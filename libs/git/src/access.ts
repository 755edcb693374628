/** How a remote is reached, by the options that `gitfs_` and `git_pillar_` have alike. */
export interface GitAccess {
  /** Empty: git sends neither user nor password. */
  readonly user: string;
  readonly password: string;
  /** Send user and password over plain http too. */
  readonly insecureAuth: boolean;
  /** Path of a private key for ssh. */
  readonly privkey: string;
  readonly proxy: string;
  readonly sslVerify: boolean;
}

/**
 * The variables by which git reaches a remote. Credentials are among them, so that no list of
 * processes shows them.
 */
export function accessEnvironment(url: string, access: GitAccess): Record<string, string> {
  const { user, password, insecureAuth, privkey, proxy, sslVerify } = access;
  const env: Record<string, string> = {};
  if (!sslVerify) env['GIT_SSL_NO_VERIFY'] = 'true';
  if (proxy !== '') {
    for (const name of ['http_proxy', 'https_proxy']) env[name] = proxy;
  }
  if (privkey !== '') {
    const quoted = `'${privkey.replaceAll("'", `'\\''`)}'`;
    env['GIT_SSH_COMMAND'] = `ssh -o BatchMode=yes -o IdentitiesOnly=yes -i ${quoted}`;
  }
  if (user !== '' && maySendPassword(url, insecureAuth)) {
    env['GIT_CONFIG_COUNT'] = '1';
    env['GIT_CONFIG_KEY_0'] = 'http.extraHeader';
    const basic = Buffer.from(`${user}:${password}`).toString('base64');
    env['GIT_CONFIG_VALUE_0'] = `Authorization: Basic ${basic}`;
  }
  return env;
}

/** Whether user and password may go to a URL: over https, or http where that is allowed. */
export function maySendPassword(url: string, insecureAuth: boolean): boolean {
  return url.startsWith('https://') || (insecureAuth && url.startsWith('http://'));
}

import { LoginError, type LoginModule } from './login-module.ts';
import { sameSecret } from './same-secret.ts';

/**
 * One password for all users, known to a front end that has checked them
 * (salt/auth/sharedsecret.py).
 */
export function sharedSecret(secret: string): LoginModule {
  return {
    async check({ username, password }) {
      if (secret === '') throw new LoginError('sharedsecret is not set');
      return sameSecret(secret, password) ? { name: username, groups: [] } : undefined;
    },
  };
}

/** Takes no password: users of `oidc` log in by a browser, at their provider. */
export const browserAlone: LoginModule = {
  async check() {
    throw new LoginError('external_auth:oidc takes no password: its users log in by a browser');
  },
};

/** Lets every user in (salt/auth/auto.py): only for tests that ask for it. */
export function everybody(allowed: boolean): LoginModule {
  return {
    async check({ username }) {
      if (!allowed) throw new LoginError('auto is for tests: brine.testing.eauth_auto is off');
      return { name: username, groups: [] };
    },
  };
}

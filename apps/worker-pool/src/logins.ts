import type { MasterOptions } from '@brine/config';
import { everybody, LoginModules, Pam, PasswordFile, sharedSecret } from '@brine/eauth';
import type { LoginModule } from '@brine/eauth';
import type { AccessRules, Logins } from '@brine/master';
import { fromJson } from '@brine/wire';

/** Joins the login modules that `external_auth` names to the rules. */
export function loginsOf(
  options: MasterOptions,
  onTrouble: (text: string, cause: unknown) => void,
): Logins {
  const settingsOf = (module: string): Readonly<Record<string, unknown>> => {
    const settings = Object.hasOwn(options.externalAuth, module)
      ? options.externalAuth[module]
      : undefined;
    return isRecord(settings) ? settings : {};
  };
  const modules: Readonly<Record<string, LoginModule>> = {
    auto: everybody(options.brine.eauth.auto),
    file: new PasswordFile(settingsOf('file')),
    pam: new Pam({
      service: options['auth.pam.service'],
      program: options.brine.eauth.pamProgram,
    }),
    sharedsecret: sharedSecret(options.sharedsecret),
  };
  for (const module of Object.keys(options.externalAuth)) {
    if (!Object.hasOwn(modules, module)) onTrouble(`no login module ${module} is known`, undefined);
  }
  const all = new LoginModules({ modules, onTrouble });
  return {
    async vouch(module, username, password) {
      const known = await all.vouch(module, username, password);
      if (known === undefined) return undefined;
      const { name, groups, acl } = known;
      return { name, groups, ...(acl === undefined ? {} : { acl: fromJson(acl) }) };
    },
  };
}

/** The options that say who may do what. */
export function accessRules(options: MasterOptions): AccessRules {
  return {
    externalAuth: options.externalAuth,
    publisherAcl: options.publisherAcl,
    sudoAcl: options.sudoAcl,
    permissiveAcl: options.permissiveAcl,
    keepAclInToken: options.keepAclInToken,
    tokenExpire: options.tokenExpire,
    tokenExpireUserOverride: options.tokenExpireUserOverride,
    hashType: options.hashType,
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

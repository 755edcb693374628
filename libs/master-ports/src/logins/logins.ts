import type { MasterOptions, SERVED } from '@brine/config';
import {
  CertificateLogin,
  everybody,
  Ldap,
  type LdapOptions,
  type LoginModule,
  LoginModules,
  Pam,
  PasswordFile,
  RestLogin,
  sharedSecret,
} from '@brine/eauth';
import type { AccessRules, Logins } from '@brine/master';
import type { Trouble } from '@brine/tasks';
import { fromJson } from '@brine/wire/text';

/** Joins the login modules that `external_auth` names to the rules. */
export function loginsOf(
  options: MasterOptions,
  count: (name: string) => void,
  onTrouble: Trouble,
): Logins {
  const settingsOf = (module: string): Readonly<Record<string, unknown>> => {
    const settings = Object.hasOwn(options.externalAuth, module)
      ? options.externalAuth[module]
      : undefined;
    return isRecord(settings) ? settings : {};
  };
  const modules: Readonly<Record<(typeof SERVED.external_auth)[number], LoginModule>> = {
    auto: everybody(options.brine.testing.eauthAuto),
    file: new PasswordFile(settingsOf('file')),
    ldap: new Ldap(ldapOptions(options)),
    pam: new Pam({
      service: options['auth.pam.service'],
      program: options.brine.eauth.pamProgram,
    }),
    pki: new CertificateLogin(settingsOf('pki')),
    rest: new RestLogin(settingsOf('rest')),
    sharedsecret: sharedSecret(options.sharedsecret),
  };
  for (const module of Object.keys(options.externalAuth)) {
    if (!Object.hasOwn(modules, module)) onTrouble(`no login module ${module} is known`, undefined);
  }
  const all = new LoginModules({ modules, onTrouble, count });
  return {
    prove: (proof, from, check) => all.prove(proof, from, check),
    async vouch(module, username, password, from) {
      const known = await all.vouch(module, username, password, from);
      if (known === undefined) return undefined;
      const { name, groups, acl } = known;
      return { name, groups, ...(acl === undefined ? {} : { acl: fromJson(acl) }) };
    },
  };
}

/** The options that grant rights. */
export function accessRules(options: MasterOptions): AccessRules {
  return {
    externalAuth: options.externalAuth,
    publisherAcl: options.publisherAcl,
    sudoAcl: options.sudoAcl,
    permissiveAcl: options.permissiveAcl,
    // With `rest`, the rights of a user are requested once (salt/config apply_master_config).
    keepAclInToken: options.keepAclInToken || Object.hasOwn(options.externalAuth, 'rest'),
    tokenExpire: options.tokenExpire,
    tokenExpireUserOverride: options.tokenExpireUserOverride,
    hashType: options.hashType,
  };
}

function ldapOptions(options: MasterOptions): LdapOptions {
  const tls = options['auth.ldap.tls'];
  const address = `${options['auth.ldap.server']}:${options['auth.ldap.port']}`;
  return {
    url: options['auth.ldap.uri'] || `${tls ? 'ldaps' : 'ldap'}://${address}`,
    startTls: options['auth.ldap.starttls'],
    verify: !options['auth.ldap.noVerify'],
    baseDn: options['auth.ldap.basedn'],
    bindDn: options['auth.ldap.binddn'],
    bindPassword: options['auth.ldap.bindpw'],
    filter: options['auth.ldap.filter'],
    scope: (['base', 'one', 'sub'] as const)[options['auth.ldap.scope']] ?? 'sub',
    groupOu: options['auth.ldap.groupou'],
    accountAttribute: options['auth.ldap.accountattributename'],
    groupAttribute: options['auth.ldap.groupattribute'],
    personType: options['auth.ldap.persontype'],
    groupClass: options['auth.ldap.groupclass'],
    activeDirectory: options['auth.ldap.activedirectory'],
    freeIpa: options['auth.ldap.freeipa'],
    groupBaseDn: options['auth.ldap.groupBasedn'],
    groupFilter: options['auth.ldap.groupFilter'],
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

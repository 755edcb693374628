import { createHash } from 'node:crypto';
import { type MasterOptions, oidcSettings, type SERVED } from '@brine/config';
import {
  browserAlone,
  CertificateLogin,
  everybody,
  type KnownUser,
  Ldap,
  type LdapOptions,
  LoginError,
  type LoginModule,
  LoginModules,
  OidcLogin,
  Pam,
  PasswordFile,
  RestLogin,
  sharedSecret,
} from '@brine/eauth';
import type { AccessRules, Logins } from '@brine/master';
import type { Trouble } from '@brine/tasks';
import { fromJson } from '@brine/wire/text';

type Vouched = NonNullable<Awaited<ReturnType<Logins['vouch']>>>;

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
    oidc: browserAlone,
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
    elsewhere: elsewhereOf(options, all, onTrouble),
    async vouch(module, username, password, from) {
      return vouchedOf(await all.vouch(module, username, password, from));
    },
  };
}

function vouchedOf(known: KnownUser | undefined): Vouched | undefined {
  if (known === undefined) return undefined;
  const { name, groups, acl } = known;
  return { name, groups, ...(acl === undefined ? {} : { acl: fromJson(acl) }) };
}

/** Log-ins by OpenID Connect; undefined where `external_auth` or `brine.oidc` does not have it. */
function elsewhereOf(
  options: MasterOptions,
  all: LoginModules,
  onTrouble: Trouble,
): Logins['elsewhere'] {
  if (!Object.hasOwn(options.externalAuth, 'oidc')) return undefined;
  const settings = oidcSettings(options);
  if (settings === undefined) {
    onTrouble(
      'external_auth:oidc lets no user in: brine.oidc needs issuer, client_id, client_secret and ' +
        'redirect_uri',
    );
    return undefined;
  }
  const provider = new OidcLogin(settings, onTrouble);
  return {
    begin: () => provider.begin().catch(awayIf(undefined)),
    finish: (flow, callback, from) => {
      const check = async () => vouchedOf(await provider.finish(flow, callback));
      // The failures of one log-in are no obstacle to those of other users at its address.
      return all.prove('oidc', from, check, digestOf(flow)).catch(awayIf('away' as const));
    },
  };
}

/** The value for a provider that does not answer, which the provider has logged. */
function awayIf<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof LoginError) return value;
    throw error;
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
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

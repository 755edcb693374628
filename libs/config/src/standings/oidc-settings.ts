import type { MasterOptions } from '../master.ts';

/** The settings of a provider of OpenID Connect that users can log in at. */
export type OidcSettings = MasterOptions['brine']['oidc'] & {
  readonly issuer: string;
  readonly redirectUri: string;
};

/** `brine.oidc`; undefined if `external_auth` does not have it, or a setting is missing. */
export function oidcSettings(
  options: Pick<MasterOptions, 'externalAuth' | 'brine'>,
): OidcSettings | undefined {
  const { oidc } = options.brine;
  const { issuer, redirectUri, clientId, clientSecret } = oidc;
  if (!Object.hasOwn(options.externalAuth, 'oidc')) return undefined;
  if (issuer === undefined || redirectUri === undefined) return undefined;
  return clientId === '' || clientSecret === '' ? undefined : { ...oidc, issuer, redirectUri };
}

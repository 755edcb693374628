/** What the operator sets about a provider of OpenID Connect: `brine.oidc`. */
export interface OidcOptions {
  /** As the provider writes it in its tokens. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** The claim with the name of the user. */
  readonly nameClaim: string;
  /** The claim with its groups; empty: no groups. */
  readonly groupsClaim: string;
  /** Origins of endpoints beside that of the issuer. */
  readonly origins: readonly string[];
}

import { type KnownUser, RefusedLogin } from '../login-module.ts';
import type { OidcOptions } from './oidc-options.ts';

const NAME_MAX = 256;
/** Characters; names of groups in a directory are long. */
const GROUP_MAX = 1_024;
const GROUPS_MAX = 1_000;
/** Characters of all groups: each token keeps them. */
const ALL_GROUPS_MAX = 65_536;

/** Control characters, marks that change the direction of a text, and the like. */
const UNSEEN = /\p{C}/u;

/**
 * The user of a verified ID token. A claim of another form than expected refuses the log-in:
 * rights that silently lack a group are harder to explain.
 * @throws RefusedLogin with a text for the operator, which has no claim in it
 */
export function claimedUser(
  claims: Readonly<Record<string, unknown>>,
  { nameClaim, groupsClaim }: Pick<OidcOptions, 'nameClaim' | 'groupsClaim'>,
): KnownUser {
  const name = claimIn(claims, nameClaim);
  if (typeof name !== 'string' || !isName(name, NAME_MAX)) {
    throw new RefusedLogin(`the claim ${nameClaim} is not a name of 1 to ${NAME_MAX} characters`);
  }
  // Anyone can give an address that is not verified, also that of another user.
  if (nameClaim === 'email' && (claimIn(claims, 'email_verified') ?? true) !== true) {
    throw new RefusedLogin('the claim email is not verified by the provider');
  }
  return { name, groups: groupsClaim === '' ? [] : groupsIn(claims, groupsClaim) };
}

function groupsIn(claims: Readonly<Record<string, unknown>>, claim: string): readonly string[] {
  // More groups than fit into a token: the provider names a place to ask instead.
  const elsewhere = claimIn(claims, '_claim_names');
  const isElsewhere =
    typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
  if (isElsewhere || claimIn(claims, 'hasgroups') === true) {
    throw new RefusedLogin(
      `the user has too many groups for the claim ${claim}: let the provider send only those ` +
        'that external_auth names',
    );
  }
  const given = claimIn(claims, claim) ?? [];
  const groups = Array.isArray(given) ? (given as readonly unknown[]) : [given];
  if (groups.length > GROUPS_MAX) {
    throw new RefusedLogin(`the claim ${claim} has more than ${GROUPS_MAX} groups`);
  }
  let characters = 0;
  return groups.map((group) => {
    if (typeof group !== 'string' || !isName(group, GROUP_MAX)) {
      throw new RefusedLogin(
        `the claim ${claim} is not a list of texts of 1 to ${GROUP_MAX} characters`,
      );
    }
    characters += group.length;
    if (characters > ALL_GROUPS_MAX) {
      throw new RefusedLogin(`the claim ${claim} has more than ${ALL_GROUPS_MAX} characters`);
    }
    return group;
  });
}

function claimIn(claims: Readonly<Record<string, unknown>>, claim: string): unknown {
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined;
}

function isName(text: string, most: number): boolean {
  return text.trim() !== '' && text.length <= most && !UNSEEN.test(text);
}

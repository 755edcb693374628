import { anything, flag, integer, map, openingFlag, text } from '../kinds.ts';

/** Who may run what. */
export const accessOptions = {
  publisher_acl: map({ default: {}, doc: 'Functions that users of the host may run, by user.' }),
  publisher_acl_blacklist: map({
    default: {},
    doc: 'Users and functions that are refused, even if publisher_acl allows them.',
  }),
  client_acl_verify: flag({ default: true, doc: 'Check that users of publisher_acl exist.' }),
  sudo_acl: flag({ default: false, doc: 'Apply publisher_acl to users that come by sudo.' }),
  external_auth: map({
    default: {},
    doc: 'Functions that users of other systems may run, by login module and user.',
  }),
  token_expire: integer({ default: 43_200, min: 0, unit: 's', doc: 'Lifetime of an eauth token.' }),
  token_expire_user_override: anything({
    default: false,
    doc: 'Users that may ask for another lifetime of a token.',
  }),
  keep_acl_in_token: openingFlag({ default: false, doc: 'Keep the rights in the token.' }),
  permissive_acl: openingFlag({
    default: false,
    doc: 'Rights of `*` are passed over, as in Salt.',
  }),
  eauth_acl_module: text({ default: '', doc: 'Module that gives rights.' }),
  eauth_tokens: text({ default: 'localfs', doc: 'Where tokens are kept.' }),
  peer: map({ default: {}, doc: 'What minions may run on other minions.' }),
  peer_run: map({ default: {}, doc: 'What runners minions may run.' }),
  sharedsecret: text({ default: '', doc: 'Password of the sharedsecret eauth module.' }),
  'auth.pam.service': text({ default: 'login', doc: 'PAM service of the pam eauth module.' }),
} as const;

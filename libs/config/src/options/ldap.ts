import { flag, integer, openingFlag, text } from '../kinds.ts';

/** The directory of the login module `ldap` (Salt: salt/auth/ldap.py `__defopts__`). */
export const ldapOptions = {
  'auth.ldap.uri': text({ default: '', doc: 'URL of the directory, in place of the next four.' }),
  'auth.ldap.server': text({ default: 'localhost', doc: 'Host of the directory.' }),
  'auth.ldap.port': integer({ default: 389, min: 1, max: 65_535, doc: 'Port of the directory.' }),
  'auth.ldap.tls': flag({ default: false, doc: 'Use ldaps.' }),
  'auth.ldap.starttls': flag({ default: false, doc: 'Begin TLS on the plain port.' }),
  'auth.ldap.no_verify': openingFlag({
    default: false,
    doc: 'Trust any certificate of the directory.',
  }),
  'auth.ldap.basedn': text({ default: '', doc: 'Where users are searched.' }),
  'auth.ldap.binddn': text({
    default: '',
    doc: 'Account that searches. Without bindpw it is the DN of the user, with `{{ username }}`.',
  }),
  'auth.ldap.bindpw': text({ default: '', doc: 'Password of that account.' }),
  'auth.ldap.filter': text({ default: '', doc: 'Finds a user, with `{{ username }}`.' }),
  'auth.ldap.scope': integer({
    default: 2,
    min: 0,
    max: 2,
    doc: 'Depth of that search: 0 the base alone, 1 one level, 2 all.',
  }),
  'auth.ldap.groupou': text({ default: 'Groups', doc: 'Where groups are searched below basedn.' }),
  'auth.ldap.accountattributename': text({
    default: 'memberUid',
    doc: 'Attribute with the name of a user.',
  }),
  'auth.ldap.groupattribute': text({ default: 'memberOf', doc: 'Groups in the entry of a user.' }),
  'auth.ldap.persontype': text({ default: 'person', doc: 'Object class of users.' }),
  'auth.ldap.groupclass': text({ default: 'posixGroup', doc: 'Object class of groups.' }),
  'auth.ldap.activedirectory': flag({ default: false, doc: 'Search groups as AD keeps them.' }),
  'auth.ldap.freeipa': flag({ default: false, doc: 'Search groups as FreeIPA keeps them.' }),
  'auth.ldap.group_basedn': text({ default: '', doc: 'Where FreeIPA keeps groups.' }),
  'auth.ldap.group_filter': text({ default: '', doc: 'Finds those groups of a user.' }),
} as const;

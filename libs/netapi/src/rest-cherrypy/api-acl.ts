import type { ApiAcl } from '@brine/config';

/**
 * True if a user may log in from an address (salt/netapi/rest_cherrypy/app.py salt_api_acl_tool).
 */
export function mayComeFrom(acl: ApiAcl | undefined, user: string, address: string): boolean {
  if (acl === undefined) return true;
  const list = acl.get(user) ?? acl.get('*');
  return list !== undefined && (list.includes(address) || list.includes('*'));
}

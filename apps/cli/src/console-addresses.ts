import { hostname } from 'node:os';
import { type MasterOptions, readRestCherrypy } from '@brine/config';

const LOOPBACK = '127.0.0.1';
/** Names of all addresses of a host, which are none to connect to. */
const ALL_ADDRESSES: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Where the console is, with a slash at the end: by `brine.http`, then by `rest_cherrypy`. */
export function consoleAddresses({
  brine: { http },
  restCherrypy,
}: {
  readonly brine: { readonly http: Pick<MasterOptions['brine']['http'], 'host' | 'port'> };
  readonly restCherrypy: MasterOptions['restCherrypy'];
}): readonly string[] {
  const own = `http://${named(http.host, LOOPBACK)}:${http.port}/console/`;
  const { address, rootPrefix } = readRestCherrypy(restCherrypy);
  if (address === undefined) return [own];
  const scheme = address.tls === undefined ? 'http' : 'https';
  const site = `${scheme}://${named(address.host, hostname())}:${address.port}${rootPrefix}`;
  return [own, `${site}/console/`];
}

function named(host: string, ofAll: string): string {
  const name = ALL_ADDRESSES.has(host) ? ofAll : host;
  return name.includes(':') ? `[${name}]` : name;
}

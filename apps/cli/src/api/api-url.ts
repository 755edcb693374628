import { BlockList, isIP } from 'node:net';
import { EXIT, Exit } from '../exit-codes.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * The address of an API in its one form: no slash at the end. Without TLS a password and a session
 * would be readable on the way, so `http` leads to this host alone, as through a tunnel of ssh.
 * @throws Exit 64
 */
export function apiUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw refused(`${JSON.stringify(text)} is no address: it begins with https://`);
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('an address has no name and no password: `brine login` asks for them');
  }
  if (url.search !== '' || url.hash !== '') throw refused(`${text}: an address ends with its path`);
  if (url.protocol === 'http:' && !isOfThisHost(url.hostname)) {
    throw refused(
      `${url.origin} is not encrypted: use https, or a tunnel to 127.0.0.1 ` +
        '(ssh -L 4507:127.0.0.1:4507 HOST)',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function isOfThisHost(name: string): boolean {
  const host = name.replace(/^\[|\]$/g, '');
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function refused(text: string): Exit {
  return new Exit(EXIT.usage, `brine: error: ${text}\n`);
}

import type { MasterOptions } from '@brine/config';
import type { Finding } from '../findings/finding.ts';

/** Below this version one minion can speak for another (CVE-2025-62349). */
const VERSION_MIN = 3;
const LOOPBACK = /^(?:localhost|127\.|\[?::1\]?$)/;

/** A glob of wildcards alone. */
const ANY_ID = /^[*?.]*\*[*?.]*$/;

/** Checks for options that allow access that is denied by default. */
export function checkOptions(options: MasterOptions): Finding[] {
  const findings: Finding[] = [];
  const add = (level: Finding['level'], check: string, text: string): void => {
    findings.push({ level, check, text });
  };
  if (options.openMode) add('bad', 'open_mode', 'open_mode lets every key in: turn it off');
  else add('ok', 'open_mode', 'open_mode is off');
  if (options.autoAccept) {
    add('warn', 'auto_accept', 'auto_accept accepts the key of every new minion, unchecked');
  }
  const version = options.minimumAuthVersion;
  if (version < VERSION_MIN) {
    const text = `minimum_auth_version is ${version}: one may speak for others (CVE-2025-62349)`;
    add('bad', 'minimum_auth_version', `${text}; raise it to 3 once all are of 3006.12 or later`);
  } else add('ok', 'minimum_auth_version', `minimum_auth_version is ${version}`);
  if (options.requestServerTtl === 0) {
    const text = 'request_server_ttl is 0: a captured request can be sent again after two minutes';
    add('warn', 'request_server_ttl', `${text}; 120 is safe where clocks are kept`);
  }
  if (options.publishSession === 0) {
    add(
      'warn',
      'publish_session',
      'publish_session is 0: session keys and the AES key stay for ever',
    );
  }
  if (!options.rotateAesKey) {
    add('bad', 'rotate_aes_key', 'rotate_aes_key is off: deleted minions still read jobs');
  }
  if (!options.signPubMessages) {
    add('warn', 'sign_pub_messages', 'sign_pub_messages is off: publications are not signed');
  }
  if (options.orderMasters && options.brine.syndics.some((glob) => ANY_ID.test(glob))) {
    const text = 'order_masters is on and brine.syndics lets every minion be a syndic';
    add('bad', 'syndics', `${text}, which then speaks for all others: name the syndics there`);
  }
  findings.push(...checkExposed(options));
  return findings;
}

function checkExposed({ brine }: MasterOptions): Finding[] {
  const findings: Finding[] = [];
  const servers = [
    ['nats', brine.nats.url, natsHosts, /tls:/],
    ['postgres', brine.postgres.url, hostsOf, /sslmode=(?:require|verify)/],
  ] as const;
  for (const [check, url, hosts, isPrivate] of servers) {
    if (url === undefined || isPrivate.test(url)) continue;
    // A URL without a host is a local socket.
    const host = hosts(url).find((one) => one !== '' && !LOOPBACK.test(one));
    if (host === undefined) continue;
    const text = `${check} at ${host} is reached without TLS: what jobs carry can be read there`;
    findings.push({ level: 'bad', check: `${check}-exposed`, text });
  }
  if (!LOOPBACK.test(brine.healthHost)) {
    const text = `health and metrics are served on ${brine.healthHost}, without a password`;
    findings.push({ level: 'warn', check: 'health-exposed', text });
  }
  return findings;
}

/** The servers of a URL of NATS, which may list several of them, each with credentials. */
function natsHosts(url: string): readonly string[] {
  const parts = url.split(',').map((part) => part.trim());
  const urls = parts.map((part) => (part.includes('://') ? part : `nats://${part}`));
  return urls.every((one) => URL.canParse(one))
    ? urls.map((one) => new URL(one).hostname)
    : hostsOf(url);
}

/** The servers of a URL with one authority, without its credentials. */
function hostsOf(url: string): readonly string[] {
  const [authority = ''] = url.replace(/^[^/]*:\/\//, '').split(/[/?#]/, 1);
  const servers = authority.slice(authority.lastIndexOf('@') + 1).split(',');
  return servers.map((server) => server.trim().replace(/:\d*$/, ''));
}

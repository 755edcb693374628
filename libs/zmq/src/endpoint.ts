/**
 * Makes a ZeroMQ endpoint of Salt's `interface` and port options: IPv6 addresses get brackets,
 * port 0 means any free port.
 *
 * Salt: salt/utils/zeromq.py ip_bracket
 */
export function tcpEndpoint(host: string, port: number): string {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  const shown = bare.includes(':') ? `[${bare}]` : bare;
  return `tcp://${shown}:${port === 0 ? '*' : String(port)}`;
}

/** True if an endpoint names an IPv6 address, for which libzmq wants ZMQ_IPV6. */
export function isIpv6Endpoint(endpoint: string): boolean {
  return endpoint.startsWith('tcp://[');
}

/** TCP keepalive as Salt sets it on every socket. Salt: salt/config `tcp_keepalive*`. */
export const SALT_TCP_KEEPALIVE = {
  tcpKeepalive: 1,
  tcpKeepaliveIdle: 300,
  tcpKeepaliveCount: -1,
  tcpKeepaliveInterval: -1,
} as const;

/** The same idle time for sockets of our own, in ms. */
export const SALT_KEEPALIVE_IDLE_MS = SALT_TCP_KEEPALIVE.tcpKeepaliveIdle * 1_000;

/** Where a `tcp://host:port` endpoint listens; `*` is every address, or any free port. */
export function listenAddress(endpoint: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = '', port = ''] =
    /^tcp:\/\/(?:\[([^\]]+)\]|([^:[\]]*)):(\d+|\*)$/.exec(endpoint) ?? [];
  if (port === '') throw new RangeError(`no TCP endpoint: ${endpoint}`);
  const host = bracketed ?? plain;
  return { host: host === '*' ? '0.0.0.0' : host, port: port === '*' ? 0 : Number(port) };
}

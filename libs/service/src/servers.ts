import type { MasterOptions } from '@brine/config';
import type { ServiceContext } from './run-service.ts';

/** How a service reaches NATS: the options of its connection. Throws where no server is named. */
export function natsOf<const Name extends string>(
  { options, log, signal }: Pick<ServiceContext, 'options' | 'log' | 'signal'>,
  name: Name,
) {
  const { nats } = options.brine;
  if (!nats.url) throw new Error('no NATS server is named: set NATS_URL or brine.nats.url');
  return {
    ...nats,
    url: nats.url,
    name,
    signal,
    /** No message may stop a reader: it logs one that it can not handle, and goes on. */
    onAside: (aside: object) =>
      log.error(aside, 'a message can not be handled and was passed over'),
  };
}

/** `user:password@` before the hosts, or the parameter. */
const HAS_PASSWORD = /^[^/]*\/\/[^/?#@]*:[^/?#@]+@|[?&]password=/;

/** What Linux has by itself: /proc/sys/net/ipv4/tcp_keepalive_time. */
const LINUX_KEEPALIVE_MS = 7_200_000;

/** How long a connection is idle before it is probed, in ms; 0: never (`tcp_keepalive*`). */
export function keepAliveMs({
  tcpKeepalive,
  tcpKeepaliveIdle,
}: Pick<MasterOptions, 'tcpKeepalive' | 'tcpKeepaliveIdle'>): number {
  if (!tcpKeepalive) return 0;
  return tcpKeepaliveIdle > 0 ? tcpKeepaliveIdle * 1000 : LINUX_KEEPALIVE_MS;
}

/**
 * The URL of PostgreSQL, with the password of libpq's `PGPASSWORD` where it has none: the driver
 * finds that variable no more. Throws where none is named.
 */
export function postgresUrlOf({ options, env }: Pick<ServiceContext, 'options' | 'env'>): string {
  const { url } = options.brine.postgres;
  if (!url) throw new Error('no PostgreSQL is named: set DATABASE_URL or brine.postgres.url');
  const password = env['PGPASSWORD'] ?? '';
  if (password === '' || HAS_PASSWORD.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}password=${encodeURIComponent(password)}`;
}

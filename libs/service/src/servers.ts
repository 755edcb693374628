import type { MasterOptions } from '@brine/config';
import type { ServiceContext } from './run-service.ts';

/** The options of a service's connection to NATS. Throws if no server is configured. */
export function natsOf<const Name extends string>(
  { options, log, signal }: Pick<ServiceContext, 'options' | 'log' | 'signal'>,
  name: Name,
) {
  const { nats } = options.brine;
  if (!nats.url) throw new Error('no NATS server is configured: set NATS_URL or brine.nats.url');
  return {
    ...nats,
    url: nats.url,
    name,
    signal,
    /** No message may stop a reader: it logs and skips a message that it can not handle. */
    onAside: (aside: object) => log.error(aside, 'a message can not be handled and was skipped'),
  };
}

/** `user:password@` before the hosts, or the parameter. */
const HAS_PASSWORD = /^[^/]*\/\/[^/?#@]*:[^/?#@]+@|[?&]password=/;

/** Linux's default: /proc/sys/net/ipv4/tcp_keepalive_time. */
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
 * The URL of PostgreSQL. Adds the password of libpq's `PGPASSWORD` if it has none: the driver does
 * not find that variable any more. Throws if no URL is configured.
 */
export function postgresUrlOf({ options, env }: Pick<ServiceContext, 'options' | 'env'>): string {
  const { url } = options.brine.postgres;
  if (!url) throw new Error('no PostgreSQL is configured: set DATABASE_URL or brine.postgres.url');
  const password = env['PGPASSWORD'] ?? '';
  if (password === '' || HAS_PASSWORD.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}password=${encodeURIComponent(password)}`;
}

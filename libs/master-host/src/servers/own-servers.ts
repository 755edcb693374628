import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { type Bus, connectBus, type ServiceName } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { CERTIFICATE_FILES } from '@brine/crypt';
import { ownNatsUrl, ownPostgresUrl } from '../state-dir.ts';

/** Users of NATS that may ask about streams; a host has the certificate of at most one. */
const ASKERS: readonly ServiceName[] = ['admin', 'event-bus'];
/** A running server answers within this, ms. */
const CONNECT_MS = 3_000;

/**
 * Connects to NATS with the rights of `admin`, or of `event-bus` if this host has only those.
 * @throws Error whose message names the remedy
 */
export async function connectOwnBus(options: MasterOptions): Promise<Bus> {
  const { brine } = options;
  const { url, certificates } = brine.nats;
  if (url === undefined || url === '') {
    const own = ownNatsUrl(options, 'admin');
    if (own === undefined) throw new Error('the NATS of this master does not run');
    return connectBus({ url: own, name: 'admin', connectTimeoutMs: CONNECT_MS });
  }
  const name = url.includes('tls:')
    ? ASKERS.find((one) => isReadable(join(certificates, one, CERTIFICATE_FILES.key)))
    : 'admin';
  if (name === undefined) {
    const names = ASKERS.join(' and ');
    throw new Error(`this user can read no certificate of ${names} below ${certificates}`);
  }
  return connectBus({ ...brine.nats, url, name, connectTimeoutMs: CONNECT_MS });
}

/** The URL of PostgreSQL. @throws Error if this host knows none */
export function ownDatabaseUrl(options: MasterOptions): string {
  const { url } = options.brine.postgres;
  if (url !== undefined && url !== '') return url;
  const own = ownPostgresUrl(options);
  if (own === undefined) throw new Error('the PostgreSQL of this master does not run');
  return own;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

import { join } from 'node:path';
import { isRecord, type ServiceName } from '@brine/bus';
import { textNowIfThere } from '@brine/files';

/**
 * The URL of the server that another process of this host runs in a directory, for a service.
 * Undefined if there is no such server.
 */
export function runningNatsUrl(dir: string, service: ServiceName): string | undefined {
  const port = Number(textNowIfThere(join(dir, 'port')) ?? '');
  const text = textNowIfThere(join(dir, 'credentials.json'));
  if (!Number.isInteger(port) || port <= 0 || text === undefined) return undefined;
  const passwords: unknown = JSON.parse(text);
  const password = isRecord(passwords) ? passwords[service] : undefined;
  return typeof password === 'string'
    ? `nats://${service}:${password}@127.0.0.1:${port}`
    : undefined;
}

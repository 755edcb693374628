import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord, type ServiceName } from '@brine/bus';

/**
 * How a service reaches the server that another process of this host runs in a directory.
 * Undefined where there is none.
 */
export async function runningNatsUrl(
  dir: string,
  service: ServiceName,
): Promise<string | undefined> {
  const port = Number((await textOf(join(dir, 'port'))) ?? '');
  const text = await textOf(join(dir, 'credentials.json'));
  if (!Number.isInteger(port) || port <= 0 || text === undefined) return undefined;
  const passwords: unknown = JSON.parse(text);
  const password = isRecord(passwords) ? passwords[service] : undefined;
  return typeof password === 'string'
    ? `nats://${service}:${password}@127.0.0.1:${port}`
    : undefined;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

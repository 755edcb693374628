import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bus, connectBus, type ServiceName } from '@brine/bus';

/**
 * Connects to the NATS server of a master's own, by default as its event-bus.
 * @throws Error if the server is unreachable or not the master's own.
 */
export async function connectToOwn(
  stateDir: string,
  connectTimeoutMs = 2_000,
  name: ServiceName = 'event-bus',
): Promise<Bus> {
  const dir = join(stateDir, 'nats');
  const port = (await readFile(join(dir, 'port'), 'utf8')).trim();
  const users = JSON.parse(await readFile(join(dir, 'credentials.json'), 'utf8')) as object;
  const password = (users as Record<string, string>)[name];
  const url = `nats://${name}:${password}@127.0.0.1:${port}`;
  return connectBus({ url, name, connectTimeoutMs });
}

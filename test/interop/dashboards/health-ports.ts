import type { BrineMaster } from '@brine/testing';
import { waitFor } from '../stock-tools/stock-tools.ts';

/** The addresses of the replicas of each service, once the supervisor has noted all of them. */
export async function healthPorts(master: BrineMaster): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  let services: { name: string; healthPort?: number }[] = [];
  await waitFor('the ports of all services', async () => {
    const text = await master.file('..', 'master', 'cache', 'brine', 'services.json');
    ({ services } = JSON.parse(text) as { services: typeof services });
    return services.every(({ healthPort }) => healthPort !== undefined);
  });
  for (const { name, healthPort } of services) {
    (found[name.replace(/-\d+$/, '')] ??= []).push(`127.0.0.1:${healthPort}`);
  }
  return found;
}

/** Where the HTTP API of a master listens, from its health port. */
export async function httpEndpoint(healthPort = ''): Promise<string> {
  const answer = await fetch(`http://${healthPort}/status`);
  const { endpoints } = (await answer.json()) as { endpoints: { endpoint: string }[] };
  return endpoints[0]?.endpoint ?? '';
}

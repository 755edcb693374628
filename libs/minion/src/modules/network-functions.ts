import { hostname, networkInterfaces } from 'node:os';
import type { SaltValue } from '@brine/wire';
import type { Call, FunctionTable, MinionFunction } from '../functions/minion-function.ts';

const PARAMETERS = [
  { name: 'interface', default: null },
  { name: 'include_loopback', default: false },
];

/** The module `network`: the addresses of this host. */
export const networkFunctions: FunctionTable = new Map<string, MinionFunction>([
  [
    'network.ip_addrs',
    {
      doc: 'List the IPv4 addresses of this host, or of one interface.',
      parameters: PARAMETERS,
      run: (call) => addresses(call, 'IPv4'),
    },
  ],
  [
    'network.ip_addrs6',
    {
      doc: 'List the IPv6 addresses of this host, or of one interface.',
      parameters: PARAMETERS,
      run: (call) => addresses(call, 'IPv6'),
    },
  ],
  ['network.get_hostname', { doc: 'Return the name of this host.', run: () => hostname() }],
]);

function addresses({ named }: Call, family: 'IPv4' | 'IPv6'): SaltValue {
  const only = named.get('interface') ?? null;
  const loopback = named.get('include_loopback') === true;
  const found: string[] = [];
  for (const [name, list] of Object.entries(networkInterfaces())) {
    if (only !== null && name !== only) continue;
    for (const address of list ?? []) {
      if (address.family !== family || (address.internal && !loopback)) continue;
      found.push(address.address);
    }
  }
  return [...new Set(found)].sort();
}

import { hostname, networkInterfaces } from 'node:os';
import type { SaltMap, SaltValue } from '@brine/wire';

/** Grains about names and addresses, without network queries. */
export function networkGrains(): SaltMap {
  const name = hostname();
  const [host = name, ...domain] = name.split('.');
  const ipv4 = new Set<string>();
  const ipv6 = new Set<string>();
  const ip4Interfaces: SaltMap = new Map();
  const ip6Interfaces: SaltMap = new Map();
  const hardware: SaltMap = new Map();
  const both: SaltMap = new Map();
  for (const [device, addresses = []] of Object.entries(networkInterfaces())) {
    const four = addresses.filter((one) => one.family === 'IPv4').map((one) => one.address);
    const six = addresses.filter((one) => one.family === 'IPv6').map((one) => one.address);
    for (const address of four) ipv4.add(address);
    for (const address of six) ipv6.add(address);
    ip4Interfaces.set(device, four);
    ip6Interfaces.set(device, six);
    both.set(device, [...four, ...six]);
    hardware.set(device, addresses[0]?.mac ?? '');
  }
  return new Map<SaltValue, SaltValue>([
    ['nodename', name],
    ['localhost', name],
    ['host', host],
    ['domain', domain.join('.')],
    ['fqdn', name],
    ['ipv4', [...ipv4].sort()],
    ['ipv6', [...ipv6].sort()],
    ['ip4_interfaces', ip4Interfaces],
    ['ip6_interfaces', ip6Interfaces],
    ['ip_interfaces', both],
    ['hwaddr_interfaces', hardware],
  ]);
}

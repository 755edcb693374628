import ipaddr from 'ipaddr.js';

/**
 * What counts as one address in limits by address: a client with one IPv6 address has its whole
 * network, the first 64 bits. A text that is no address stays as it is.
 */
export function networkOf(from: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(from)?.[1];
  if (mapped !== undefined) return mapped;
  if (!ipaddr.IPv6.isValid(from)) return from;
  const { parts } = ipaddr.IPv6.parse(from);
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

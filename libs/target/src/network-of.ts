import ipaddr from 'ipaddr.js';

/**
 * The unit of limits by address. A client with an IPv6 address owns its whole network, so that is
 * the first 64 bits. Any other text stays as it is.
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

import ipaddr from 'ipaddr.js';
import { isDict, member } from './data.ts';
import type { Data } from './data.ts';

type Address = ReturnType<typeof ipaddr.parse>;

/**
 * Compiles an address or a network (`10.0.0.0/8`, `fe80::/10`) into a test of grains; undefined
 * for text that is neither. As in Python, a network with host bits set is neither.
 */
export function compileIpcidr(text: string): ((grains: Data) => boolean) | undefined {
  const address = parseAddress(text);
  if (address !== undefined) {
    const wanted = address.kind() === 'ipv6' ? canonical6(address) : address.toString();
    return (grains) => addressesOf(grains, address.kind()).some((item) => item === wanted);
  }
  const network = parseNetwork(text);
  if (network === undefined) return undefined;
  const [base, bits] = network;
  return (grains) =>
    addressesOf(grains, base.kind()).some((item) => {
      const one = parseAddress(item);
      return one !== undefined && one.kind() === base.kind() && one.match(base, bits);
    });
}

function addressesOf(grains: Data, kind: 'ipv4' | 'ipv6'): readonly string[] {
  const found = isDict(grains) ? member(grains, kind) : undefined;
  if (typeof found === 'string') return [found];
  if (!Array.isArray(found)) return [];
  return found.filter((item): item is string => typeof item === 'string');
}

/** Python takes four plain decimal parts only; ipaddr.js also takes `10.1` and `0x7f.1`. */
function parseAddress(text: string): Address | undefined {
  if (text.includes(':')) {
    return ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined;
  }
  const plain = /^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text);
  return plain && ipaddr.IPv4.isValid(text) ? ipaddr.IPv4.parse(text) : undefined;
}

function parseNetwork(text: string): readonly [Address, number] | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const base = parseAddress(text.slice(0, slash));
  if (base === undefined) return undefined;
  const bits = prefixLength(text.slice(slash + 1), base);
  return bits === undefined || hasHostBits(base, bits) ? undefined : [base, bits];
}

function prefixLength(text: string, base: Address): number | undefined {
  const limit = base.toByteArray().length * 8;
  if (/^\d{1,3}$/.test(text)) return Number(text) <= limit ? Number(text) : undefined;
  if (base.kind() === 'ipv6') return undefined;
  const mask = parseAddress(text);
  if (mask === undefined || mask.kind() !== 'ipv4') return undefined;
  return mask.prefixLengthFromSubnetMask() ?? hostMaskLength(mask);
}

/** `0.0.0.255` is the host part of a /24, as Python reads it. */
function hostMaskLength(mask: Address): number | undefined {
  const inverted = mask.toByteArray().map((byte) => 255 - byte);
  return ipaddr.fromByteArray(inverted).prefixLengthFromSubnetMask() ?? undefined;
}

function hasHostBits(base: Address, bits: number): boolean {
  return base.toByteArray().some((byte, i) => {
    const kept = Math.min(8, Math.max(0, bits - i * 8));
    return (byte & (0xff >> kept)) !== 0;
  });
}

/** Python's text of an IPv6 address: lower case, the longest run of zeros left out. */
function canonical6(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

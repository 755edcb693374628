import ipaddr from 'ipaddr.js';
import type { Data } from './data.ts';
import { isDict, member } from './data.ts';
import type { Work } from './work.ts';

/** Longer than any address, with zone and prefix. */
const MAX_LENGTH = 128;
/** The work of comparing an address, in steps. */
const STEPS_PER_ADDRESS = 4;
const STEPS_PER_ADDRESS_6 = 40;

type Address = ReturnType<typeof ipaddr.parse>;

/**
 * Compiles an address or a network (`10.0.0.0/8`, `fe80::/10`) into a test of grains; undefined
 * for text that is neither. As in Python, a network with host bits set is neither.
 */
export function compileIpcidr(text: string): ((grains: Data, work: Work) => boolean) | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const address = parseAddress(text);
  if (address !== undefined) {
    const wanted = address.kind() === 'ipv6' ? canonical6(address) : address.toString();
    return (grains, work) =>
      addressesOf(grains, address.kind(), work).some((item) => item === wanted);
  }
  const network = parseNetwork(text);
  if (network === undefined) return undefined;
  const [base, bits] = network;
  const within = base.kind() === 'ipv4' ? within4(base, bits) : within6(base, bits);
  return (grains, work) => addressesOf(grains, base.kind(), work).some(within);
}

/**
 * Compares numbers: a fleet has hundreds of thousands of addresses, and ipaddr.js takes 1 µs each.
 */
function within4(base: Address, bits: number): (text: string) => boolean {
  const mask = bits === 0 ? 0 : -1 << (32 - bits);
  const wanted = ipv4Number(base.toString());
  return (text) => {
    const address = ipv4Number(text);
    return address !== undefined && ((address ^ (wanted ?? 0)) & mask) === 0;
  };
}

function within6(base: Address, bits: number): (text: string) => boolean {
  const wanted = parts6(base.toString()) ?? [];
  return (text) => {
    const parts = parts6(text);
    if (parts === undefined) return false;
    return parts.every((part, i) => {
      const kept = Math.min(16, Math.max(0, bits - 16 * i));
      return (part ^ (wanted[i] ?? 0)) >>> (16 - kept) === 0;
    });
  };
}

/** 32 bits of four decimal parts without leading zeros; undefined for any other text. */
function ipv4Number(text: string): number | undefined {
  let address = 0;
  let parts = 0;
  let at = 0;
  while (at < text.length) {
    const start = at;
    let part = 0;
    for (; at < text.length && at < start + 3; at += 1) {
      const digit = text.charCodeAt(at) - 0x30;
      if (digit < 0 || digit > 9) break;
      part = part * 10 + digit;
    }
    const leading = at > start + 1 && text.charCodeAt(start) === 0x30;
    if (at === start || leading || part > 255) return undefined;
    address = (address << 8) | part;
    parts += 1;
    if (at === text.length) break;
    if (parts === 4 || text[at] !== '.') return undefined;
    at += 1;
  }
  return parts === 4 && !text.endsWith('.') ? address : undefined;
}

/** Eight numbers of 16 bits; undefined for an invalid address. Reads the usual forms. */
function parts6(text: string): readonly number[] | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  if (!/^[0-9A-Fa-f:]*$/.test(text)) return other6(text);
  const [left = '', right, ...more] = text.split('::');
  const head = hexParts(left);
  const tail = right === undefined ? [] : hexParts(right);
  if (head === undefined || tail === undefined || more.length > 0) return undefined;
  const missing = 8 - head.length - tail.length;
  if (right === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...new Array<number>(missing).fill(0), ...tail];
}

function hexParts(text: string): readonly number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  if (parts.some((part) => part === '' || part.length > 4)) return undefined;
  return parts.map((part) => Number.parseInt(part, 16));
}

/** Reads addresses with a zone, or with the last parts in decimals. */
function other6(text: string): readonly number[] | undefined {
  const address = text.includes(':') ? parseAddress(text) : undefined;
  return address instanceof ipaddr.IPv6 ? address.parts : undefined;
}

function addressesOf(grains: Data, kind: 'ipv4' | 'ipv6', work: Work): readonly string[] {
  const found = isDict(grains) ? member(grains, kind) : undefined;
  if (typeof found === 'string') return [found];
  if (!Array.isArray(found)) return [];
  work.spend(found.length * (kind === 'ipv4' ? STEPS_PER_ADDRESS : STEPS_PER_ADDRESS_6));
  return found.every(isText) ? found : found.filter(isText);
}

function isText(item: unknown): item is string {
  return typeof item === 'string';
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

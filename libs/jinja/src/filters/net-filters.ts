import { strip } from '@brine/wire/text';
import ipaddr from 'ipaddr.js';
import { bind, bindFilter } from '../arguments.ts';
import type { Filter, FilterHost } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { contains } from '../python/operators.ts';
import { repr, str } from '../python/text.ts';
import {
  type CallArguments,
  intValue,
  isDict,
  isInt,
  isList,
  iterate,
  lengthOf,
  truth,
  Tuple,
  typeName,
  Undefined,
} from '../python/values.ts';
import { wholeText } from './text-filters.ts';

interface Address {
  readonly version: 4 | 6;
  readonly ip: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefix: number;
  readonly text: string;
}

/** Longer than any address with a zone. */
const MAX_TEXT = 256;
/** Hosts of all networks of a list together; a network of version 6 counts for many. */
const MAX_HOSTS = 65_536;
const HOSTS_PER_HOST_OF_6 = 16;

/** Salt's filters for addresses (Salt: salt/utils/network.py). */
export const NET_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  [
    'ip_host',
    (value, args) => eachAddress(value, args, ({ text, prefix }) => withPrefix(text, prefix)),
  ],
  ['ipaddr', (value, args) => ofEither(value, optionsOf(args))],
  ['ipv4', (value, args) => ofVersion(value, 4, optionsOf(args))],
  ['ipv6', (value, args) => ofVersion(value, 6, optionsOf(args))],
  ['ipwrap', (value) => wrap(value)],
  [
    'is_ip',
    (value, args) =>
      checked(value, 4, optionsOf(args)) !== null || checked(value, 6, optionsOf(args)) !== null,
  ],
  ['is_ipv4', (value, args) => checked(value, 4, optionsOf(args)) !== null],
  ['is_ipv6', (value, args) => checked(value, 6, optionsOf(args)) !== null],
  ['network_hosts', networkHosts],
  [
    'network_size',
    (value, args) =>
      eachAddress(value, args, ({ version, prefix }) => intValue(size(version, prefix))),
  ],
  ['filter_by_networks', (value, args, host) => within(value, args, host)],
  ['mac_str_to_bytes', (value) => macBytes(value)],
  ['gen_mac', (value, _args, { outside }) => mac(str(value), outside.random)],
]);

function optionsOf(args: CallArguments): string {
  const options = args.positional[0] ?? args.named.get('options') ?? null;
  return options === null ? '' : str(options);
}

/** An address or interface as Python's ipaddress reads it; undefined for anything else. */
function parse(value: unknown): Address | undefined {
  if (typeof value !== 'string' || value.length > MAX_TEXT) return undefined;
  const [address = '', mask, more] = value.split('/');
  if (more !== undefined || address === '') return undefined;
  const ip = parseFour(address) ?? parseSix(address);
  if (ip === undefined) return undefined;
  const version = ip instanceof ipaddr.IPv4 ? 4 : 6;
  const bits = version === 4 ? 32 : 128;
  const prefix = mask === undefined ? bits : maskBits(mask, version);
  if (prefix === undefined || prefix > bits) return undefined;
  const shown = ip instanceof ipaddr.IPv4 ? address : compressed(ip);
  return { version, ip, prefix, text: mask === undefined ? shown : `${shown}/${prefix}` };
}

/** Each address has one text of this form, as in Python: no zeros before a number. */
function parseFour(address: string): ipaddr.IPv4 | undefined {
  if (!/^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(address)) return undefined;
  const octets = address.split('.').map(Number);
  return octets.every((octet) => octet <= 255) ? new ipaddr.IPv4(octets) : undefined;
}

function parseSix(address: string): ipaddr.IPv6 | undefined {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return undefined;
  return ipaddr.IPv6.parse(address);
}

function compressed(ip: ipaddr.IPv6): string {
  return ip.toRFC5952String();
}

function maskBits(mask: string, version: 4 | 6): number | undefined {
  if (/^\d{1,3}$/.test(mask)) return Number(mask);
  if (version === 6 || !ipaddr.IPv4.isValidFourPartDecimal(mask)) return undefined;
  const bytes = ipaddr.IPv4.parse(mask).octets;
  // Python also takes a mask of the host part.
  const turned = new ipaddr.IPv4(bytes.map((byte) => 255 - byte));
  return (
    new ipaddr.IPv4(bytes).prefixLengthFromSubnetMask() ??
    turned.prefixLengthFromSubnetMask() ??
    undefined
  );
}

/** The ranges that Salt's options name. The order of the tests does not matter. */
function fits(address: Address, option: string): boolean {
  const range = address.ip.range();
  const isPrivate = range !== 'unicast' && range !== 'multicast' && range !== '6to4';
  switch (option) {
    case 'global':
    case 'public':
      return !isPrivate;
    case 'link-local':
    case 'linklocal':
    case 'll':
    case 'link_local':
      return range === 'linkLocal';
    case 'loopback':
    case 'lo':
      return range === 'loopback';
    case 'multicast':
      return range === 'multicast';
    case 'private':
      return isPrivate;
    case 'reserved':
      return address.version === 4 && (address.ip.toByteArray()[0] ?? 0) >= 240;
    case 'unspecified':
      return range === 'unspecified';
    default:
      return true;
  }
}

function checked(value: unknown, version: 4 | 6, options: string): string | null {
  return fitting(value, version, options)?.text ?? null;
}

/** The address, if it is one of that version (of any, without one) and meets all options. */
function fitting(value: unknown, version: 4 | 6 | undefined, options: string): Address | undefined {
  const address = parse(value);
  if (address === undefined || (version !== undefined && address.version !== version)) {
    return undefined;
  }
  const all = options.split(',').every((option) => fits(address, option.trim()));
  return all ? address : undefined;
}

function ofVersion(value: unknown, version: 4 | 6, options: string): unknown {
  if (!isList(value) && !(value instanceof Tuple)) return checked(value, version, options);
  return value.map((item) => checked(item, version, options)).filter((item) => item !== null);
}

/** Of a list, those of version 4 come first. */
function ofEither(value: unknown, options: string): unknown {
  if (!isList(value) && !(value instanceof Tuple)) {
    return fitting(value, undefined, options)?.text ?? null;
  }
  const all = value.map((item) => fitting(item, undefined, options));
  return [4, 6].flatMap((version) =>
    all.flatMap((address) => (address?.version === version ? [address.text] : [])),
  );
}

function eachAddress(
  value: unknown,
  args: CallArguments,
  read: (address: Address) => unknown,
): unknown {
  const bound = bind('ip_host', ['options', 'version'], args, { options: null, version: null });
  const options = bound.get('options') === null ? '' : str(bound.get('options'));
  const version = bound.get('version');
  const found =
    version === 4 || version === 6 ? ofVersion(value, version, options) : ofEither(value, options);
  if (!truth(found)) return null;
  const list = isList(found) ? found : [found];
  const results = list.map((text) => {
    const address = parse(text);
    if (address === undefined) throw valueError(`${str(text)} is no address`);
    return read(address);
  });
  return isList(value) || value instanceof Tuple ? results : results[0];
}

function withPrefix(text: string, prefix: number): string {
  return text.includes('/') ? text : `${text}/${prefix}`;
}

function size(version: 4 | 6, prefix: number): bigint {
  return 1n << BigInt((version === 4 ? 32 : 128) - prefix);
}

function numberOf(ip: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  const parts = ip instanceof ipaddr.IPv4 ? ip.octets : ip.parts;
  const [bits, perNumber] = ip instanceof ipaddr.IPv4 ? [8, 4] : [16, 2];
  let number = 0n;
  for (let at = 0; at < parts.length; at += perNumber) {
    const few = parts.slice(at, at + perNumber).reduce((sum, part) => sum * 2 ** bits + part, 0);
    number = (number << 32n) | BigInt(few);
  }
  return number;
}

function networkHosts(value: unknown, args: CallArguments): unknown {
  let total = 0;
  return eachAddress(value, args, (address) => {
    const count = Number(size(address.version, address.prefix));
    total += address.version === 6 ? HOSTS_PER_HOST_OF_6 * count : count;
    if (total > MAX_HOSTS) throw new JinjaError('Limit', 'network_hosts: the network is too large');
    return hosts(address);
  });
}

/** Leaves out the network itself, and in version 4 the broadcast address. */
function hosts({ version, ip, prefix }: Address): string[] {
  const count = Number(size(version, prefix));
  const number = numberOf(ip);
  const network = number - (number % BigInt(count));
  if (version === 4) {
    const first = Number(network);
    const isWhole = count <= 2;
    const length = isWhole ? count : count - 2;
    return Array.from({ length }, (_, at) => textOf4(first + at + (isWhole ? 0 : 1)));
  }
  const skipped = count <= 2 ? 0 : 1;
  const textAt = (at: number): string => textOf6(network + BigInt(at + skipped));
  return Array.from({ length: count - skipped }, (_, at) => textAt(at));
}

function textOf4(number: number): string {
  return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
}

function textOf6(number: bigint): string {
  const bytes: number[] = [];
  for (let left = 16, rest = number; left > 0; left -= 1, rest >>= 8n) {
    bytes.unshift(Number(rest & 255n));
  }
  return compressed(ipaddr.fromByteArray(bytes) as ipaddr.IPv6);
}

function wrap(value: unknown): unknown {
  const one = (item: unknown): unknown =>
    typeof item === 'string' && contains(item, ':') && checked(item, 6, '') !== null
      ? `[${item}]`
      : item;
  return isList(value) ? value.map(one) : one(value);
}

function mac(prefix: string, random: () => number): string {
  const byte = (): string =>
    Math.floor(random() * 256)
      .toString(16)
      .padStart(2, '0')
      .toUpperCase();
  return `${prefix}:${byte()}:${byte()}:${byte()}`;
}

/** Addresses in any of the networks, once each: of a list, or of each list of a dict. */
function within(value: unknown, args: CallArguments, host: FilterHost): unknown {
  const bound = bindFilter('filter_by_networks', 'values', value, ['networks'], args);
  const given = bound.get('networks');
  if (given === null) return value;
  const networks = bySize(iterate(given).map(networkOf));
  const filtered = (list: unknown): unknown[] =>
    iterate(list).flatMap((text) => {
      if (networks.size === 0) return [];
      const times = timesIn(spanOf(plainAddress(text)), networks);
      host.step(networks.size + times);
      return Array.from({ length: times }, () => text);
    });
  if (isDict(value)) return new Map([...value].map(([name, list]) => [name, filtered(list)]));
  const isSequence = Array.isArray(value) || typeof value === 'string';
  if (isSequence || value instanceof Uint8Array) return filtered(value);
  const type = value instanceof Undefined ? 'jinja2.runtime.StrictUndefined' : typeName(value);
  throw valueError(`Do not know how to filter a <class '${type}'>`);
}

/** A range of consecutive addresses. */
interface Span {
  readonly version: 4 | 6;
  readonly number: bigint;
  readonly size: bigint;
}

function spanOf({ version, ip, prefix }: Address): Span {
  return { version, number: numberOf(ip), size: size(version, prefix) };
}

function networkOf(given: unknown): Span {
  const network = numbered(given) ?? parse(given);
  if (network === undefined) {
    throw valueError(`${repr(given)} does not appear to be an IPv4 or IPv6 network`);
  }
  const span = spanOf(network);
  if (span.number % span.size !== 0n) throw valueError(`${network.text} has host bits set`);
  return span;
}

function plainAddress(given: unknown): Address {
  const isText = typeof given === 'string' && !given.includes('/');
  const address = numbered(given) ?? (isText ? parse(given) : undefined);
  if (address !== undefined) return address;
  throw valueError(`${repr(given)} does not appear to be an IPv4 or IPv6 address`);
}

/** Python reads an integer as an address. */
function numbered(given: unknown): Address | undefined {
  if (!isInt(given) && typeof given !== 'boolean') return undefined;
  const number = BigInt(given);
  if (number < 0n || number >= 2n ** 128n) return undefined;
  return parse(number < 2n ** 32n ? textOf4(Number(number)) : textOf6(number));
}

/** Networks of one size and version: the count of each, by its first address. */
interface Sized {
  readonly version: 4 | 6;
  readonly size: bigint;
  readonly counts: Map<bigint, number>;
}

/** Groups networks by size: sizes are few, even among many networks. */
function bySize(networks: readonly Span[]): ReadonlyMap<string, Sized> {
  const sizes = new Map<string, Sized>();
  for (const { version, number, size: length } of networks) {
    const key = `${version} ${length}`;
    const sized = sizes.get(key) ?? { version, size: length, counts: new Map<bigint, number>() };
    sized.counts.set(number, (sized.counts.get(number) ?? 0) + 1);
    sizes.set(key, sized);
  }
  return sizes;
}

/** The number of networks that contain an address. */
function timesIn({ version, number }: Span, networks: ReadonlyMap<string, Sized>): number {
  let times = 0;
  for (const sized of networks.values()) {
    if (sized.version !== version) continue;
    times += sized.counts.get(number - (number % sized.size)) ?? 0;
  }
  return times;
}

/** The six bytes of an address, with or without a sign between them. */
function macBytes(value: unknown): Uint8Array {
  const length = lengthOf(value);
  if (length !== 12 && length !== 17) throw valueError('Invalid MAC address');
  if (typeof value !== 'string') {
    throw typeError("int() can't convert non-string with explicit base");
  }
  const signs = [...value];
  const digits = length === 12 ? signs : signs.filter((sign) => sign !== signs[2]);
  const bytes = [0, 2, 4, 6, 8, 10].map((at) => {
    const pair = digits.slice(at, at + 2).join('');
    const byte = wholeText(strip(pair), 16);
    if (byte === undefined) {
      throw valueError(`invalid literal for int() with base 16: ${repr(pair)}`);
    }
    if (byte < 0n) throw valueError('bytes must be in range(0, 256)');
    return Number(byte);
  });
  return Uint8Array.from(bytes);
}

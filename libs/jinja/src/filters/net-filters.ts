import ipaddr from 'ipaddr.js';
import { bind } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { JinjaError, valueError } from '../errors.ts';
import { contains } from '../python/operators.ts';
import { str } from '../python/text.ts';
import {
  type CallArguments,
  intValue,
  isDict,
  isList,
  iterate,
  truth,
  Tuple,
  typeName,
} from '../python/values.ts';

interface Address {
  readonly version: 4 | 6;
  readonly ip: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefix: number;
  readonly text: string;
}

/** No address is as long, with the zone that it may name. */
const MAX_TEXT = 256;
/** Of all networks of a list together; one of version 6 takes as long as so many others. */
const MAX_HOSTS = 65_536;
const HOSTS_PER_HOST_OF_6 = 8;

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
  ['filter_by_networks', (value, args) => within(value, args)],
  ['mac_str_to_bytes', (value) => macBytes(str(value))],
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
  const four = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(address);
  if (!four && !address.includes(':')) return undefined;
  if (!ipaddr.isValid(address)) return undefined;
  const ip = ipaddr.parse(address);
  const version = ip.kind() === 'ipv4' ? 4 : 6;
  const bits = version === 4 ? 32 : 128;
  const prefix = mask === undefined ? bits : maskBits(mask, version);
  if (prefix === undefined || prefix > bits) return undefined;
  const shown = version === 4 ? ip.toString() : compressed(ip as ipaddr.IPv6);
  return { version, ip, prefix, text: mask === undefined ? shown : `${shown}/${prefix}` };
}

function compressed(ip: ipaddr.IPv6): string {
  return ip.toRFC5952String();
}

function maskBits(mask: string, version: 4 | 6): number | undefined {
  if (/^\d{1,3}$/.test(mask)) return Number(mask);
  if (version === 6 || !ipaddr.IPv4.isValidFourPartDecimal(mask)) return undefined;
  return ipaddr.IPv4.parse(mask).prefixLengthFromSubnetMask() ?? undefined;
}

/** Which of Salt's options name which ranges; the order in which Salt looks at them is free. */
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
  const address = parse(value);
  if (address?.version !== version) return null;
  const all = options.split(',').every((option) => fits(address, option.trim()));
  return all ? address.text : null;
}

function ofVersion(value: unknown, version: 4 | 6, options: string): unknown {
  if (!isList(value) && !(value instanceof Tuple)) return checked(value, version, options);
  return value.map((item) => checked(item, version, options)).filter((item) => item !== null);
}

function ofEither(value: unknown, options: string): unknown {
  const four = ofVersion(value, 4, options);
  const six = ofVersion(value, 6, options);
  if (isList(four) && isList(six)) return [...four, ...six];
  return four ?? six;
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
  return 2n ** BigInt((version === 4 ? 32 : 128) - prefix);
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

function hosts({ version, ip, prefix }: Address): string[] {
  const count = size(version, prefix);
  const number = ip.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const network = number - (number % count);
  const bits = version === 4 ? 32 : 128;
  const all = Array.from({ length: Number(count) }, (_, at) => text(network + BigInt(at), version));
  if (bits - prefix <= 1) return all;
  // Without the network itself, and in version 4 without the broadcast address.
  return version === 4 ? all.slice(1, -1) : all.slice(1);
}

function text(number: bigint, version: 4 | 6): string {
  if (version === 4) {
    const four = Number(number);
    return `${four >>> 24}.${(four >>> 16) & 255}.${(four >>> 8) & 255}.${four & 255}`;
  }
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

/** Addresses in one of the networks, once for each: of a list, or of each list of a dict. */
function within(value: unknown, args: CallArguments): unknown {
  const given = bind('filter_by_networks', ['networks'], args).get('networks');
  if (given === null) return value;
  const networks = iterate(given).map((text) => networkOf(text));
  const filtered = (list: unknown): unknown[] =>
    iterate(list).flatMap((text) => {
      const address = plainAddress(text);
      return networks.filter((network) => isIn(address, network)).map(() => text);
    });
  if (isDict(value)) return new Map([...value].map(([name, list]) => [name, filtered(list)]));
  if (isList(value) || value instanceof Tuple) return filtered(value);
  throw valueError(`Do not know how to filter a <class '${typeName(value)}'>`);
}

function networkOf(text: unknown): Address {
  const network = parse(text);
  if (network === undefined) {
    const shown = JSON.stringify(str(text)).replaceAll('"', "'");
    throw valueError(`${shown} does not appear to be an IPv4 or IPv6 network`);
  }
  if (firstOf(network) !== numberOf(network)) throw valueError(`${str(text)} has host bits set`);
  return network;
}

function plainAddress(text: unknown): Address {
  const address = typeof text === 'string' && !text.includes('/') ? parse(text) : undefined;
  if (address !== undefined) return address;
  const shown = JSON.stringify(str(text)).replaceAll('"', "'");
  throw valueError(`${shown} does not appear to be an IPv4 or IPv6 address`);
}

function isIn(address: Address, network: Address): boolean {
  if (address.version !== network.version) return false;
  const offset = numberOf(address) - firstOf(network);
  return offset >= 0n && offset < size(network.version, network.prefix);
}

function numberOf({ ip }: Address): bigint {
  return ip.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function firstOf(network: Address): bigint {
  const number = numberOf(network);
  return number - (number % size(network.version, network.prefix));
}

/** The six bytes of an address, with or without a sign between them. */
function macBytes(text: string): Uint8Array {
  const digits = text.length === 17 ? text.replaceAll(text.charAt(2), '') : text;
  if (digits.length !== 12) throw valueError('Invalid MAC address');
  const odd = /^[0-9A-Fa-f]{12}$/.test(digits) ? undefined : digits;
  if (odd !== undefined) throw valueError(`invalid literal for int() with base 16: '${odd}'`);
  return new Uint8Array(Buffer.from(digits, 'hex'));
}

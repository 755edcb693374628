import { bindFilter, type Filter, iterate, JinjaError, typeName, Undefined } from '@brine/jinja';
import type { BlockingCalls } from '@brine/python-host';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { DNS_CHECK, HTTP_QUERY } from './network-questions.ts';

/** Arguments of Salt's function in its order; each of them may also be a keyword. */
const QUERY_NAMES = [
  ...['method', 'params', 'data', 'data_file', 'header_dict', 'header_list', 'header_file'],
  ...['username', 'password', 'auth', 'decode', 'decode_type', 'status', 'headers', 'text'],
];

/**
 * Salt's filters for the network (Salt: salt/utils/network.py dns_check, salt/utils/http.py query).
 * A render cannot wait for an answer, so another thread does.
 * @param network that thread; the first filter that needs it starts it
 * @param opts the options of the master
 */
export function networkFilters(
  network: () => BlockingCalls,
  opts: SaltMap,
): ReadonlyMap<string, Filter> {
  return new Map<string, Filter>([
    [
      'dns_check',
      (value, args) => {
        const defaults = { safe: false, ipv6: null };
        const names = ['port', 'safe', 'ipv6'];
        const bound = bindFilter('dns_check', 'addr', value, names, args, defaults);
        const { port, ipv6 } = Object.fromEntries(bound);
        if (value instanceof Undefined) throw value.error();
        if (typeof value !== 'string' || typeof port !== 'number') {
          const words = 'Invalid or unresolveable address';
          const shown = typeof value === 'string' ? value : typeName(value);
          throw raised(`Attempt to resolve address '${shown}' failed. ${words}`);
        }
        if (port < 0 || port > 65_535) throw raised('connect(): port must be 0-65535.');
        const asked = mapOf({ addr: value, port, ipv6: ipv6 as SaltValue });
        const address = network().call('render', DNS_CHECK, asked);
        if (typeof address === 'string') return address.includes(':') ? `[${address}]` : address;
        throw raised(`DNS lookup or connection check of '${value}' failed.`);
      },
    ],
    [
      'http_query',
      (url, { positional, named }) => {
        if (url instanceof Undefined) throw url.error();
        const known = positional.map((one, at): [string, unknown] => [QUERY_NAMES[at] ?? '', one]);
        if (known.some(([name]) => name === '')) {
          throw new JinjaError('TypeError', 'http_query: give further arguments by name');
        }
        const given: SaltMap = new Map([['url', plain(url)]]);
        for (const [name, one] of [...known, ...named]) given.set(name, plain(one));
        const answer = network().call('render', HTTP_QUERY, mapOf({ given, opts: ofWeb(opts) }));
        if (isMap(answer) && answer.has('refused')) throw raised(textOf(answer, 'refused') ?? '');
        return isMap(answer) ? answer.get('value') : null;
      },
    ],
  ]);
}

function raised(text: string): JinjaError {
  return new JinjaError('Raised', text);
}

/** Supported options of a request. */
const WEB_OPTIONS = [
  ...['http_connect_timeout', 'http_request_timeout', 'http_max_body', 'verify_ssl', 'ca_bundle'],
];

function ofWeb(opts: SaltMap): SaltMap {
  return mapOf(Object.fromEntries(WEB_OPTIONS.map((name) => [name, opts.get(name)])));
}

/** A value of a template as data. @throws JinjaError for other values */
function plain(value: unknown): SaltValue {
  if (value instanceof Undefined) throw value.error();
  if (isMap(value as SaltValue)) {
    return new Map([...(value as SaltMap)].map(([key, one]) => [plain(key), plain(one)]));
  }
  if (Array.isArray(value)) return iterate(value).map(plain);
  return value as SaltValue;
}

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Filter, JinjaError, renderTemplate } from '@brine/jinja';
import type { BlockingCalls } from '@brine/python-host';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, onTestFinished, test } from 'vitest';
import { answerNetwork } from './network-answers.ts';
import { networkFilters } from './network-filters.ts';
import { DNS_CHECK, HTTP_QUERY } from './network-questions.ts';

async function serve(listener: RequestListener, onConnection = () => 0): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  server.on('connection', onConnection);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const ask = (addr: string, port: number, ipv6: boolean | null = null): Promise<SaltValue> =>
  answerNetwork(DNS_CHECK, mapOf({ addr, port, ipv6 }));

test('a name is the address that answers, or its first where none does', async () => {
  const port = await serve((_request, response) => response.end());
  expect(await ask('localhost', port)).toBe('127.0.0.1');
  expect(await ask('127.0.0.1', 1)).toBe('127.0.0.1');
  expect(await ask('127.0.0.1', 1, true)).toBe('127.0.0.1');
  expect(await ask('nowhere.invalid', port)).toBe(null);
});

test('a query has the texts of http.query, and the options of the master', async () => {
  const port = await serve((request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ method: request.method, agent: request.headers['user-agent'] }));
  });
  const url = `http://127.0.0.1:${port}/`;
  const given = mapOf({ url, method: 'PUT', decode: true, status: true });
  const answer = await answerNetwork(HTTP_QUERY, mapOf({ given, opts: mapOf({}) }));
  const dict = mapOf({ method: 'PUT', agent: 'Brine http.query()' });
  const body = '{"method":"PUT","agent":"Brine http.query()"}';
  expect(answer).toEqual(mapOf({ value: mapOf({ body, status: 200, dict }) }));
});

test('what a query does not serve is refused, a body too large is an error', async () => {
  const port = await serve((_request, response) => response.end('x'.repeat(100)));
  const url = `http://127.0.0.1:${port}/`;
  const asked = (given: SaltMap, opts: SaltMap): Promise<SaltValue> =>
    answerNetwork(HTTP_QUERY, mapOf({ given, opts }));
  expect(await asked(mapOf({ url, text_out: '/etc/x' }), mapOf({}))).toEqual(
    mapOf({ refused: 'http.query: text_out is not served: no files are written.' }),
  );
  expect(await asked(mapOf({ url }), mapOf({ http_max_body: 50 }))).toEqual(
    mapOf({ value: mapOf({ error: 'the answer has more than 50 bytes' }) }),
  );
  expect(await asked(mapOf({ url: 'http://127.0.0.1:1/' }), mapOf({}))).toEqual(
    mapOf({ value: mapOf({ error: '[Errno 111] Connection refused' }) }),
  );
});

test('a server that does not answer is waited for within the time', async () => {
  const port = await serve(() => undefined);
  const given = mapOf({ url: `http://127.0.0.1:${port}/` });
  const answer = await answerNetwork(HTTP_QUERY, mapOf({ given, opts: mapOf({}) }), 300);
  expect(answer).toEqual(mapOf({ value: mapOf({ error: 'Timeout during request' }) }));
});

test('no address is tried beyond the time', async () => {
  let connections = 0;
  const port = await serve(
    (_request, response) => response.end(),
    () => (connections += 1),
  );
  const asked = mapOf({ addr: 'localhost', port, ipv6: null });
  expect(['127.0.0.1', null]).toContain(await answerNetwork(DNS_CHECK, asked, 0));
  expect(connections).toBe(0);
});

interface Asked {
  readonly op: string;
  readonly given: SaltMap;
}

function rendered(template: string, answer: SaltValue): { text: string; asked: Asked[] } {
  const asked: Asked[] = [];
  const calls = {
    call: (_use: string, op: string, given: SaltMap) => {
      asked.push({ op, given });
      return answer;
    },
  };
  const opts = mapOf({ http_max_body: 5, verify_ssl: false, hash_type: 'md5' });
  const filters: ReadonlyMap<string, Filter> = networkFilters(
    () => calls as unknown as BlockingCalls,
    opts,
  );
  const outside = { now: () => 0, random: () => 0, load: () => undefined, filters };
  try {
    return { text: renderTemplate(template, { variables: new Map(), outside }), asked };
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
    return { text: `error: ${error.message}`, asked };
  }
}

// The errors are those of stock Salt, where dns_check ends the whole render.
test.each([
  ["{{ 'a'|dns_check(80) }}", 'fe80::1', '[fe80::1]'],
  ["{{ 'a'|dns_check(port=80, ipv6=false) }}", '10.0.0.1', '10.0.0.1'],
  ["{{ 'a'|dns_check(80) }}", null, "error: DNS lookup or connection check of 'a' failed."],
  [
    "{{ 'a'|dns_check('http') }}",
    null,
    "error: Attempt to resolve address 'a' failed. Invalid or unresolveable address",
  ],
  ["{{ 'a'|dns_check(99999) }}", null, 'error: connect(): port must be 0-65535.'],
  [
    "{{ 'a'|dns_check }}",
    null,
    "error: dns_check() missing 1 required positional argument: 'port'",
  ],
  ['{{ nope|dns_check(80) }}', null, "error: 'nope' is undefined"],
  ['{{ nope|http_query }}', null, "error: 'nope' is undefined"],
  ["{{ ('http://h'|http_query).body }}", mapOf({ value: mapOf({ body: 'b' }) }), 'b'],
  ["{{ 'http://h'|http_query }}", mapOf({ refused: 'no' }), 'error: no'],
])('%s', (template, answer, text) => {
  expect(rendered(template, answer).text).toBe(text);
});

test('arguments go by their names, and of the options only those of requests', () => {
  const template = "{{ 'http://h'|http_query('POST', {'a': (1,)}, data='x', text=true) }}";
  const { asked } = rendered(template, mapOf({ value: mapOf({}) }));
  const given = {
    url: 'http://h',
    method: 'POST',
    params: mapOf({ a: [1] }),
    data: 'x',
    text: true,
  };
  const opts = mapOf({ http_max_body: 5, verify_ssl: false });
  expect(asked).toEqual([{ op: HTTP_QUERY, given: mapOf({ given: mapOf(given), opts }) }]);
});

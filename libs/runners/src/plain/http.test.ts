import { mapOf, SaltFloat, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { memoryHost } from '../../test/memory-host.ts';
import { sceneOf } from '../../test/runner-master.ts';
import type { WebAnswer, WebRequest } from '../host-ports.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n';

function scene(
  answer: (Partial<Omit<WebAnswer, 'body'>> & { readonly body?: string }) | Error,
  configured: Readonly<Record<string, SaltValue>> = {},
  disk = new Map<string, string>(),
) {
  const asked: WebRequest[] = [];
  const web = async (request: WebRequest): Promise<WebAnswer> => {
    asked.push(request);
    if (answer instanceof Error) throw answer;
    const { status = 200, reason = 'OK', headers = new Map<string, string>(), body = '' } = answer;
    return { status, reason, headers, body: Buffer.from(body) };
  };
  const more = { outgoing: { web }, hostFiles: memoryHost(disk) } as never;
  return { asked, disk, ...sceneOf([], { configured, more }) };
}

test('a request has its method, query, headers and body, and bounds of its own', async () => {
  const options = { http_request_timeout: 3600, http_connect_timeout: 5, http_max_body: 1e11 };
  const { value, asked } = scene({ body: 'hello' }, { ...options, ca_bundle: '/ca.pem' });
  const given = mapOf({
    method: 'POST',
    params: mapOf({ a: 'b c', n: 1 }),
    data: mapOf({ k: 'v&' }),
    header_dict: mapOf({ 'X-One': 1 }),
    header_list: ['X-Two: two', 'broken'],
    username: 'u',
    password: 'p',
  });
  expect(await value('http.query', ['http://h/x?y=z'], given)).toEqual(mapOf({ body: 'hello' }));
  const [request] = asked;
  expect(request).toMatchObject({
    url: 'http://h/x?y=z&a=b+c&n=1',
    method: 'POST',
    body: 'k=v%26',
    verify: true,
    caBundle: '/ca.pem',
    connectTimeoutMs: 5_000,
    timeoutMs: 300_000,
    maxBytes: 16 * 1024 * 1024,
  });
  expect(Object.fromEntries(request?.headers ?? [])).toEqual({
    'X-One': '1',
    'X-Two': 'two',
    Authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
    'User-agent': 'Brine http.query()',
    'Content-Type': 'application/x-www-form-urlencoded',
  });
});

test('status, headers, text and what was decoded are shown where they are asked for', async () => {
  const headers = new Map([['content-type', 'application/json']]);
  const body = '{"a": 1.0}';
  const { value } = scene({ headers, body });
  const all = mapOf({ status: true, headers: true, text: true, decode: true });
  const shown = await value('http.query', ['http://h'], all);
  const dict = mapOf({ a: new SaltFloat(1) });
  expect(shown).toEqual(mapOf({ body, status: 200, headers, dict, text: body }));
  const yaml = mapOf({ decode: true, decode_type: 'yaml' });
  expect(await scene({ body: 'a: [1]' }).value('http.query', ['http://h'], yaml)).toEqual(
    mapOf({ body: 'a: [1]', dict: mapOf({ a: [1] }) }),
  );
  const wrong = mapOf({ decode: true, decode_type: 'ini' });
  const error =
    "Invalid decode_type specified. Valid decode types are: ('json', 'xml', 'yaml', 'plain')";
  expect(await value('http.query', ['http://h'], wrong)).toEqual(mapOf({ body, error }));
});

test('an error status and a missing connection are results, as in Salt', async () => {
  const missing = scene({ status: 404, reason: 'Not Found', body: 'gone' });
  expect(await missing.value('http.query', ['http://h'])).toEqual(
    mapOf({ status: 404, error: 'HTTP 404: Not Found', body: 'gone' }),
  );
  const kept = mapOf({ raise_error: false, status: true });
  expect(await missing.value('http.query', ['http://h'], kept)).toEqual(
    mapOf({ body: 'gone', status: 404 }),
  );
  const away = scene(new Error('[Errno 111] Connection refused'));
  expect(await away.value('http.query', ['http://h'])).toEqual(
    mapOf({ error: '[Errno 111] Connection refused' }),
  );
  expect(await away.value('http.query', ['http://h'], mapOf({ status: true }))).toEqual(
    mapOf({ status: 0, error: '[Errno 111] Connection refused' }),
  );
});

test('what is not served is refused in one line, and nothing is sent', async () => {
  const { run, asked } = scene({});
  for (const name of ['text_out', 'cookies', 'data_file', 'stream', 'anything']) {
    const outcome = await run('http.query', ['http://h'], mapOf({ [name]: 'x' }));
    expect(outcome).toMatchObject({ success: false, retcode: 1 });
    expect(outcome.value).toMatch(new RegExp(`^http\\.query: ${name} is not served: [^\\n]+$`));
  }
  expect(asked).toEqual([]);
  expect((await run('http.query', ['http://h'], mapOf({ cookies: null }))).success).toBe(true);
});

test('a test asks the test address, or nothing', async () => {
  const { value, asked } = scene({ body: 'ok' });
  expect(await value('http.query', ['http://h'], mapOf({ test: true }))).toEqual(mapOf({}));
  const given = mapOf({ test: true, test_url: 'http://t' });
  expect(await value('http.query', ['http://h'], given)).toEqual(mapOf({ test: true, body: 'ok' }));
  expect(asked.map(({ url }) => url)).toEqual(['http://t']);
});

test('a bundle of certificates goes into the file of the option, with others behind', async () => {
  const disk = new Map([
    ['/own.pem', `${PEM}own`],
    ['/key.pem', `${PEM}-----BEGIN PRIVATE KEY-----`],
    ['/etc/shadow', 'root:secret'],
  ]);
  const { value, run, asked } = scene({ body: PEM }, { ca_bundle: '/ca.pem' }, disk);
  expect(await value('http.update_ca_bundle', [null, null, '/own.pem'])).toBe(null);
  expect(disk.get('/ca.pem')).toBe(`${PEM}\n${PEM}own`);
  expect(asked[0]?.url).toBe('https://curl.se/ca/cacert.pem');
  for (const file of ['/key.pem', '/etc/shadow']) {
    expect((await run('http.update_ca_bundle', [null, null, [file]])).success).toBe(false);
  }
  expect(disk.get('/ca.pem')).toBe(`${PEM}\n${PEM}own`);
  const elsewhere = await run('http.update_ca_bundle', ['/etc/passwd']);
  expect(elsewhere.value).toContain('the file of the option ca_bundle only');
  const plain = await run('http.update_ca_bundle', [null, 'http://x/ca.pem']);
  expect(plain.value).toContain('by https only');
  expect((await scene({ body: PEM }).run('http.update_ca_bundle')).success).toBe(false);
});

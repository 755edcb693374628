import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readHttp } from './http.ts';

let server: Server;
let url = '';
const lines: string[] = [];
const minion = { id: 'web/1', grains: mapOf({ os: 'De bian' }), pillarenv: null };
const log = (_level: string, text: string): void => void lines.push(text);
const EMPTY = mapOf({});

beforeAll(async () => {
  server = createServer((request, answer) => {
    if (request.url === '/gone') answer.writeHead(404).end();
    else if (request.url === '/list') answer.end('[1]');
    else if (request.url === '/broken') answer.end('{');
    else if (request.url === '/large') answer.end(Buffer.alloc(17 * 1024 * 1024, 0x20));
    else if (request.url === '/headers') {
      const { authorization, 'x-token': token } = request.headers;
      answer.end(JSON.stringify({ authorization, token }));
    } else answer.end(JSON.stringify({ asked: request.url }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => void (lines.length = 0));

test('the id and grains are part of the address, escaped', async () => {
  const args = mapOf({ url: `${url}/%s/<os>`, with_grains: true });
  const made = await readHttp('json', minion, args, { log });
  expect(made).toEqual(mapOf({ asked: '/web%2F1/De%20bian' }));
  expect(await readHttp('yaml', minion, `${url}/%s`, { log })).toEqual(
    mapOf({ asked: '/web%2F1' }),
  );
});

test.each(['/gone', '/list', '/broken', '/large'])('%s is nothing, and logged', async (path) => {
  expect(await readHttp('json', minion, url + path, { log })).toEqual(EMPTY);
  expect(lines).toHaveLength(1);
});

test('a grain that is not there is logged', async () => {
  const args = mapOf({ url: `${url}/<nothing>`, with_grains: true });
  expect(await readHttp('json', minion, args, { log })).toEqual(EMPTY);
  expect(lines[0]).toContain('minion grains');
});

test.each(['.', '..', '...'])('a grain %s leads to no other path', async (grain) => {
  const args = mapOf({ url: `${url}/a/<where>/b`, with_grains: true });
  const asking = { ...minion, grains: mapOf({ where: grain }) };
  expect(await readHttp('json', asking, args, { log })).toEqual(EMPTY);
  expect(lines[0]).toContain('minion grains');
});

test('an address that is no text is an error', async () => {
  await expect(readHttp('json', minion, 1, { log })).rejects.toThrow(TypeError);
});

test('arguments may be a list, and with_grains any true value', async () => {
  const made = await readHttp('json', minion, [`${url}/<os>`, 1], { log });
  expect(made).toEqual(mapOf({ asked: '/De%20bian' }));
});

test('a login and headers go with the request, the answer below its namespace', async () => {
  const login = { username: 'u', password: 'p', namespace: 'site' };
  const args = mapOf({ url: `${url}/headers`, header_dict: mapOf({ 'X-Token': 7 }), ...login });
  const authorization = `Basic ${Buffer.from('u:p').toString('base64')}`;
  expect(await readHttp('json', minion, args, { log })).toEqual(
    mapOf({ site: mapOf({ authorization, token: '7' }) }),
  );
});

test.each([
  ['auth', 'http_json: auth is not served'],
  ['params', "ext_pillar() got an unexpected keyword argument 'params'"],
])('the argument %s is an error', async (name, text) => {
  const args = mapOf({ url, [name]: 'x' });
  await expect(readHttp('json', minion, args, { log })).rejects.toThrow(text);
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RestLogin } from './rest.ts';

const ANSWERS: Readonly<Record<string, readonly [status: number, body: string]>> = {
  anne: [200, '["test.*", {"web*": ["state.*"]}]'],
  bob: [200, 'null'],
  carl: [200, ''],
  dora: [401, '[".*"]'],
  emil: [200, '{"a": 1}'],
  fritz: [200, `["${'x'.repeat(2_000_000)}"]`],
  gast: [302, ''],
};

let server: Server;
let url = '';
const seen: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push(`${request.method} ${request.headers['content-type']} ${body}`);
      const [status, answer] = ANSWERS[new URLSearchParams(body).get('username') ?? ''] ?? [
        500,
        '',
      ];
      response.writeHead(status, { location: '/elsewhere' }).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/login`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

it('posts name and password as a form, and takes the rights in the answer', async () => {
  const module = new RestLogin({ '^url': url, anne: ['sys.doc'], '^odd': ['.*'] });
  const check = (username: string) =>
    module.check({ username, password: 'p & q' }, AbortSignal.timeout(5_000));
  expect(await check('anne')).toEqual({
    name: 'anne',
    groups: [],
    acl: ['sys.doc', 'test.*', { 'web*': ['state.*'] }],
  });
  expect(seen).toEqual([
    'POST application/x-www-form-urlencoded;charset=UTF-8 username=anne&password=p+%26+q',
  ]);
  expect(await check('bob')).toEqual({ name: 'bob', groups: [] });
  expect(await check('carl')).toEqual({ name: 'carl', groups: [] });
  expect(await check('dora')).toBeUndefined();
  await expect(check('emil')).rejects.toThrow('the answer is no list');
  await expect(check('fritz')).rejects.toThrow('the answer is too long');
  // A redirection is not followed with a password.
  await expect(check('gast')).rejects.toThrow('the service does not answer');
  expect(seen.filter((line) => line.includes('gast'))).toHaveLength(1);
});

it('needs a service, and one that answers', async () => {
  const given = { username: 'anne', password: 'x' };
  const none = new RestLogin({});
  await expect(none.check(given, AbortSignal.timeout(5_000))).rejects.toThrow('no ^url');
  const away = new RestLogin({ '^url': 'http://127.0.0.1:1/' });
  await expect(away.check(given, AbortSignal.timeout(5_000))).rejects.toThrow('does not answer');
});

import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Gate, until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JID, published, type SceneOptions, usualAnswer } from '../../test/api-scene.ts';
import { closeScenes, lastScene, raw, served } from '../../test/served-scene.ts';
import { FOLLOWER_PLACES } from '../places.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-api-'));
});
afterEach(async () => {
  await closeScenes();
  await rm(dir, { recursive: true });
});

const PING = { client: 'local', tgt: '*', fun: 'test.ping' };

/** Lets both minions return as soon as a call listens and publishes. */
function answering(): NonNullable<SceneOptions['answer']> {
  return (load) => {
    if (load.get('cmd') !== 'publish') return usualAnswer(load);
    for (const id of ['web1', 'web2']) {
      setImmediate(() => lastScene()?.live.returns(id, true));
    }
    return published(['web1', 'web2']);
  };
}

describe('errors', () => {
  const PAGES: readonly (readonly [string, string, number])[] = [
    ['an unknown path', '/none', 404],
    ['markup in the path', '/<script>alert(1)</script>', 404],
    ['a path that can not be decoded', '/%', 400],
    ['a query that the address does not have', '/?x=1', 404],
    ['a query with a name of objects', '/?__proto__=1', 404],
    ['a token in the query of /events', '/events?token=abc123', 400],
    ['no log-in', '/minions', 401],
    ['a path below one that ends', '/run/more', 404],
    ['a name of objects as path', '/__proto__', 404],
  ];

  test.each(PAGES)('%s is answered with the page of an error', async (_, path, status) => {
    const { ask } = await served();
    const answer = await ask(path);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('text/html;charset=utf-8');
    expect(answer.text).toContain(`<h2>${status} `);
    expect(answer.text).not.toContain('<script>');
  });

  test.each(['PUT', 'PATCH', 'DELETE'])('%s is not allowed', async (method) => {
    const { ask } = await served();
    const answer = await ask('/run', { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    expect(answer.text).toContain('<h2>405 ');
  });

  test('a header can not change the method', async () => {
    const { ask, known } = await served();
    const headers = { ...known, 'X-HTTP-Method-Override': 'POST', 'X-Method-Override': 'POST' };
    const answer = await ask('/', { headers });
    expect(JSON.parse(answer.text)).toMatchObject({ return: 'Welcome' });
  });

  test('a fault is logged without its query, and the peer does not see it', async () => {
    const { scene, post } = await served({
      answer: () => {
        throw new Error('secret words');
      },
    });
    const answer = await post('/', [{ ...PING, client: 'wheel' }]);
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.text)).toEqual({
      status: 500,
      return: 'An unexpected error occurred',
    });
    expect(scene.faults).toEqual(['POST /: Error: secret words']);
  });

  test.each(['text', 'text;', ';', 'application/json/x', 'multipart/form-data'])(
    'a body of the type %s is refused with our page',
    async (type) => {
      const { post, known } = await served();
      const answer = await post('/', '[]', { ...known, 'Content-Type': type });
      expect(answer.text).toMatch(/<h2>4(06|15) /);
    },
  );
});

describe('HEAD', () => {
  test.each(['/', '/login', '/stats', '/keys'])(
    'of %s has the headers and no body',
    async (path) => {
      const { port, token } = await served();
      const text = await raw(
        port,
        `HEAD ${path} HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\nConnection: close\r\n\r\n`,
      );
      expect(text.split('\r\n\r\n')[1]).toBe('');
    },
  );

  test('of /events ends, and follows nothing', async () => {
    const { scene, port, token } = await served();
    const text = await raw(
      port,
      `HEAD /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toContain('200 OK');
    expect(text).toContain('text/event-stream');
    expect(scene.followers.stats.followers).toBe(0);
    await until('it has no place', () => scene.followers.places.inHand === 0);
  });

  test('of an unknown path has no body', async () => {
    const { port } = await served();
    const text = await raw(port, 'HEAD /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(text).toContain('404 Not Found');
    expect(text.split('\r\n\r\n')[1]).toBe('');
  });
});

describe('tokens and cookies', () => {
  const COOKIES: readonly (readonly [string, (id: string) => string, number])[] = [
    ['the id', (id) => `session_id=${id}`, 200],
    ['the id in quotes', (id) => `session_id="${id}"`, 401],
    ['the id among others', (id) => `a=1; session_id=${id}; b=2`, 200],
    ['nothing', () => 'session_id=', 401],
    ['a broken escape', () => 'session_id=%', 401],
    ['a name of objects', () => '__proto__=1; constructor=2', 401],
    ['a path', () => 'session_id=../../etc/passwd', 401],
    ['a forged id', () => `session_id=${'0'.repeat(40)}`, 401],
    ['a very long text', () => `session_id=${'a'.repeat(8_000)}`, 401],
    ['bytes', () => 'session_id=\u00ff\u00fe', 401],
  ];

  test.each(COOKIES)('a cookie with %s', async (_, cookieOf, status) => {
    const { ask, token } = await served();
    expect((await ask('/stats', { headers: { Cookie: cookieOf(token) } })).status).toBe(status);
  });

  test('the header is preferred to the cookie, and an empty one counts as none', async () => {
    const { ask, token } = await served();
    const Cookie = `session_id=${token}`;
    const withBad = await ask('/stats', { headers: { Cookie, 'X-Auth-Token': 'f'.repeat(40) } });
    const withEmpty = await ask('/stats', { headers: { Cookie, 'X-Auth-Token': '' } });
    expect([withBad.status, withEmpty.status]).toEqual([401, 200]);
  });

  test('several X-Auth-Token headers are no token', async () => {
    const { port, token } = await served();
    const header = `X-Auth-Token: ${token}\r\n`;
    const text = await raw(
      port,
      `GET /stats HTTP/1.1\r\nHost: x\r\n${header}${header}Connection: close\r\n\r\n`,
    );
    expect(text).toContain('401 Unauthorized');
  });

  test('a log-in sets a cookie that no script reads', async () => {
    const { post } = await served();
    const body = { username: 'alice', password: 'right', eauth: 'pam' };
    const answer = await post('/login', body, {});
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^session_id=[0-9a-f]{40}; .*HttpOnly/);
    expect(cookie).toContain('SameSite=Strict');
    expect(answer.headers.get('x-auth-token')).toBe(/session_id=(\w+)/.exec(cookie)?.[1]);
  });

  test('a log-out ends the session at once', async () => {
    const { post, ask, known, scene } = await served();
    expect((await post('/logout')).status).toBe(200);
    expect((await ask('/stats', { headers: known })).status).toBe(401);
    expect(scene.master.loads.at(-1)?.get('query')).toBe('del_token');
  });

  test('a wrong password is 401, and a body without a map is Salt\u2019s 500', async () => {
    const { post } = await served();
    const wrong = await post('/login', { username: 'alice', password: 'no', eauth: 'pam' }, {});
    const empty = await post('/login', undefined, {});
    expect([wrong.status, empty.status]).toEqual([401, 500]);
  });
});

describe('pages of other origins', () => {
  const ORIGINS: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['another port of the host', { 'Sec-Fetch-Site': 'same-site' }, 403],
    ['another origin, of an old browser', { Origin: 'http://evil.example' }, 403],
    ['no origin at all', { Origin: 'null' }, 403],
    [
      'its own, behind a proxy with TLS',
      { 'Sec-Fetch-Site': 'same-origin', Origin: 'https://gui' },
      200,
    ],
    ['an address that was typed', { 'Sec-Fetch-Site': 'none' }, 200],
    ['a listed origin', { Origin: 'https://gui.example', 'Sec-Fetch-Site': 'cross-site' }, 200],
    ['a program', {}, 200],
  ];

  test.each(ORIGINS)('a cookie from %s', async (_, headers, status) => {
    const { ask, token } = await served({ origins: ['https://gui.example'] });
    const Cookie = `session_id=${token}`;
    expect((await ask('/stats', { headers: { Cookie, ...headers } })).status).toBe(status);
  });

  test('no origin is echoed that is not listed', async () => {
    const { ask } = await served({ origins: ['https://gui.example'] });
    const evil = await ask('/', { headers: { Origin: 'http://evil.example' } });
    const gui = await ask('/', { method: 'OPTIONS', headers: { Origin: 'https://gui.example' } });
    expect(evil.headers.get('access-control-allow-origin')).toBeNull();
    expect(gui.status).toBe(204);
    expect(gui.headers.get('access-control-allow-origin')).toBe('https://gui.example');
  });
});

describe('calls', () => {
  test('returns of minions become one map', async () => {
    const { post, scene } = await served({ answer: answering() });
    const answer = await post('/', [PING]);
    expect(JSON.parse(answer.text)).toEqual({ return: [{ web1: true, web2: true }] });
    expect(scene.live.listeners.size).toBe(0);
    expect(scene.room.stats.inHand).toBe(0);
  });

  test('a peer that hangs up has its place until its call is over', async () => {
    const { scene, port, token } = await served();
    const body = JSON.stringify([{ ...PING, client: 'runner' }]);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until('the call runs', () => scene.room.stats.inHand === 1);
    await until('the call is in hand', () => scene.live.listeners.size === 1);
    socket.destroy();
    await until('the server has noticed', () => scene.counts.current === 0);
    expect(scene.room.stats.inHand).toBe(1);
    scene.live.fire(`salt/run/${JID}/ret`, { return: 1 });
    await until('its place is free', () => scene.room.stats.inHand === 0);
    expect(scene.live.listeners.size).toBe(0);
  });

  test('a body that is larger than a stranger may send is refused', async () => {
    const { post } = await served();
    const answer = await post('/run', 'x'.repeat(1_100_000), {});
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('<h2>413 ');
  });

  test('max_request_body_size bounds strangers too', async () => {
    const { post } = await served({ rest: { max_request_body_size: 1_000 } });
    expect((await post('/run', 'x'.repeat(2_000), {})).status).toBe(413);
    expect((await post('/', 'x'.repeat(2_000))).status).toBe(413);
  });

  test('names of objects in a body change nothing', async () => {
    const { post } = await served();
    const body =
      '[{"client":"runner_async","fun":"a.b","__proto__":{"eauth":"x"},' +
      '"kwarg":{"__proto__":{"polluted":1}}}]';
    const answer = await post('/', body);
    expect(answer.status).toBe(200);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('an id with line ends gets into no header', async () => {
    const { post } = await served();
    const body = [{ mid: 'a"\r\nX-Evil: 1', username: 'alice', password: 'right', eauth: 'pam' }];
    const answer = await post('/keys', body, {});
    expect(answer.headers.get('content-disposition')).toBe(
      'attachment; filename="saltkeys-a___X-Evil__1.tar"',
    );
    expect(answer.headers.get('x-evil')).toBeNull();
  });

  test('a master that does not answer is 503 with Retry-After', async () => {
    const { scene, post } = await served();
    scene.master.expected = false;
    const answer = await post('/', [{ client: 'wheel', fun: 'key.list_all' }]);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(answer.text).toContain('Salt Master is not available.');
  });
});

describe('web hooks', () => {
  test('become events without the credentials of their request', async () => {
    const { scene, post, token } = await served();
    const answer = await post(
      '/hook/deploy/../x',
      { a: 1 },
      {
        'X-Auth-Token': token,
        Authorization: 'Basic eA==',
        Cookie: 'a=secret',
        'X-Other': 'shown',
      },
    );
    expect(JSON.parse(answer.text)).toEqual({ success: true });
    const [hook] = scene.hooks;
    const headers = Object.fromEntries(hook?.data.get('headers') as Map<string, string>);
    expect(headers).toMatchObject({
      'X-Auth-Token': '**********',
      Authorization: '**********',
      Cookie: '**********',
      'X-Other': 'shown',
      'Remote-Addr': '127.0.0.1',
    });
    expect(hook?.data.get('post')).toEqual(mapOf({ a: 1 }));
  });

  test.each(['/hook/%0a', '/hook/a%0d%0ab', '/hook/%00', '/hook/%1b[31m', '/hook/%7f'])(
    'the path %s is refused: a tag has no control characters',
    async (path) => {
      const { scene, port, token } = await served();
      const text = await raw(
        port,
        `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\n` +
          'Content-Length: 0\r\nConnection: close\r\n\r\n',
      );
      expect(text).toContain('400 Bad Request');
      expect(scene.hooks).toEqual([]);
    },
  );

  test.each([
    [{ arg: 'x' }, mapOf({ arg: ['x'] })],
    [{ arg: ['x'] }, mapOf({ arg: ['x'] })],
    [['x'], ['x']],
    [[], mapOf({})],
    [0, mapOf({})],
    ['', mapOf({})],
  ])(
    'with the body %j give reactors a map, a list or a text that is not empty',
    async (body, post) => {
      const { scene, token, post: send } = await served();
      await send('/hook', body, { 'X-Auth-Token': token });
      expect(scene.hooks[0]?.data.get('post')).toEqual(post);
    },
  );

  test('dots in a path stay below the tag of hooks', async () => {
    const { scene, port, token } = await served();
    await raw(
      port,
      `POST /hook/../../job/1/new HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\n` +
        'Content-Length: 0\r\nConnection: close\r\n\r\n',
    );
    expect(scene.hooks.map(({ tag }) => tag)).toEqual(['salt/netapi/hook/../../job/1/new']);
  });

  test('need a log-in, unless the operator gave that up', async () => {
    const { post } = await served();
    expect((await post('/hook', {}, {})).status).toBe(401);
    const open = await served({ rest: { webhook_disable_auth: true } });
    expect((await open.post('/hook', {}, {})).status).toBe(200);
  });
});

/** A request for a WebSocket. */
function upgrade(headers: string): string {
  return (
    'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`
  );
}

describe('events', () => {
  test('are followed as server-sent events until the peer is gone', async () => {
    const { scene, base, known } = await served({
      externalAuth: { pam: { alice: ['.*', '@runner', '@wheel'] } },
    });
    const gone = new AbortController();
    const answer = await fetch(`${base}/events`, { headers: known, signal: gone.signal });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const read = async (): Promise<string> => {
      const { value } = await reader.read();
      text += new TextDecoder().decode(value);
      return text;
    };
    expect(await read()).toBe('retry: 400\n');
    scene.live.fire('salt/a\nb', { x: 1 });
    while (!text.includes('\n\n')) await read();
    expect(text).toBe(
      'retry: 400\ntag: salt/a b\ndata: {"data": {"x": 1}, "tag": "salt/a\\nb"}\n\n',
    );
    expect(scene.followers.places.inHand).toBe(1);
    gone.abort();
    await until('it is gone', () => scene.followers.stats.followers === 0);
    await until('its place is free', () => scene.followers.places.inHand === 0);
  });

  test('a user with half of all followers is refused more, and others are not', async () => {
    const { scene, ask, known, port, token } = await served();
    for (let at = 0; at < FOLLOWER_PLACES.ofOne; at += 1) scene.followers.enter('alice');
    const refused = await ask('/events', { headers: known });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    let text = '';
    socket.on('data', (part: string) => (text += part)).on('error', () => undefined);
    socket.write(upgrade(`X-Auth-Token: ${token}\r\n`));
    await until('the WebSocket is refused too', () => text.includes('\r\n\r\n'));
    expect(text).toContain('HTTP/1.1 503 ');
    socket.destroy();
    expect(() => scene.followers.enter('bob')()).not.toThrow();
  });

  test('a peer that hangs up while its token is looked up is not kept', async () => {
    const gate = new Gate();
    const { scene, port, token } = await served({
      answer: async (load) => {
        await gate.opened;
        return usualAnswer(load);
      },
    });
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\n\r\n`);
    await until('the token is looked up', () => scene.master.loads.length > 0);
    socket.destroy();
    await until('the server has noticed', () => scene.counts.current === 0);
    gate.open();
    await until('the look-up is over', () => scene.live.listeners.size === 1);
    expect(scene.followers.stats.followers).toBe(0);
    await until('it has no place', () => scene.followers.places.inHand === 0);
  });

  test('a token that is not valid is 401', async () => {
    const { ask } = await served();
    expect((await ask('/events', { headers: { 'X-Auth-Token': 'ff' } })).status).toBe(401);
    expect((await ask('/events', { headers: { 'X-Auth-Token': '../x' } })).status).toBe(401);
  });
});

/** A client's text frame, masked with zeros. */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body]);
}

describe('WebSockets', () => {
  test('a message that comes with the upgrade is not lost', async () => {
    const { scene, port, token } = await served();
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    let text = '';
    socket.on('data', (part: string) => (text += part)).on('error', () => undefined);
    const head = Buffer.from(upgrade(`X-Auth-Token: ${token}\r\n`));
    socket.write(Buffer.concat([head, frame('websocket client ready')]));
    await until('it follows', () => scene.followers.stats.followers === 1);
    scene.live.fire(`salt/run/${JID}/ret`, { user: 'alice' });
    await until('an event', () => text.includes(`salt/run/${JID}/ret`));
    expect(text).toContain('101 Switching Protocols');
    expect(text).toContain('server received message');
    expect(scene.followers.places.inHand).toBe(1);
    socket.destroy();
    await until('it is gone', () => scene.followers.stats.followers === 0);
    await until('its place is free', () => scene.followers.places.inHand === 0);
    await until('the request is over', () => scene.counts.current === 0);
  });

  test('a token that is not valid is refused before the upgrade', async () => {
    const { port } = await served();
    expect(await raw(port, upgrade('X-Auth-Token: ff\r\n'))).toContain('401 Unauthorized');
  });

  test('a page of another origin is refused', async () => {
    const { port, token } = await served();
    const text = await raw(port, upgrade(`Cookie: session_id=${token}\r\nOrigin: http://x:9\r\n`));
    expect(text).toContain('403 Forbidden');
  });

  test('a peer that sends and never reads is disconnected', async () => {
    const { scene, port, token } = await served();
    const socket = connect(port, '127.0.0.1');
    let isClosed = false;
    socket.on('error', () => undefined).on('close', () => (isClosed = true));
    socket.pause();
    socket.write(upgrade(`X-Auth-Token: ${token}\r\n`));
    const flood = Buffer.concat(Array.from({ length: 20_000 }, () => frame('x')));
    await until('it is disconnected', () => {
      if (!socket.destroyed && socket.writable) socket.write(flood);
      return isClosed || socket.destroyed || !socket.writable;
    });
    expect(scene.faults).toEqual([]);
    socket.destroy();
  });

  test('without an upgrade the address is not found', async () => {
    const { ask, known } = await served();
    expect((await ask('/ws', { headers: known })).status).toBe(404);
  });
});

describe('files', () => {
  async function withFiles() {
    const root = join(dir, 'static');
    await mkdir(join(root, 'sub'), { recursive: true });
    await writeFile(join(dir, 'secret.txt'), 'words of others');
    await writeFile(join(root, 'page.html'), '<p>page</p>');
    await writeFile(join(root, 'sub', 'a b.txt'), 'inner');
    await writeFile(join(root, '.hidden'), 'words of others');
    await symlink(join(dir, 'secret.txt'), join(root, 'out.txt'));
    await symlink(dir, join(root, 'out'));
    await symlink('page.html', join(root, 'in.html'));
    const rest = { static: root, app: join(root, 'page.html'), favicon: join(root, 'page.html') };
    return served({ rest });
  }

  test('of the directory are served, links inside it too', async () => {
    const { ask } = await withFiles();
    expect((await ask('/static/page.html')).text).toBe('<p>page</p>');
    expect((await ask('/static/in.html')).text).toBe('<p>page</p>');
    expect((await ask('/static/sub/a%20b.txt')).text).toBe('inner');
    expect((await ask('/favicon.ico')).status).toBe(200);
    expect((await ask('/app/any/path')).text).toBe('<p>page</p>');
    expect((await ask('/app', { method: 'HEAD' })).text).toBe('');
  });

  const OUT = [
    '/static/../secret.txt',
    '/static/%2e%2e/secret.txt',
    '/static/..%2fsecret.txt',
    '/static/..%5csecret.txt',
    '/static/%2e%2e%2f%2e%2e%2fetc/passwd',
    '/static//etc/passwd',
    '/static/%2fetc/passwd',
    '/static/out.txt',
    '/static/out/secret.txt',
    '/static/.hidden',
    '/static/sub/../.hidden',
    '/static/page.html%00.txt',
    '/static/',
    '/static/sub',
    '/static/%',
    '/static/%ff',
  ];

  test.each(OUT)('%s is refused', async (path) => {
    const { port } = await withFiles();
    const text = await raw(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 40[034] /);
    expect(text).not.toMatch(/words of others|root:/);
  });

  test('only a browser gets the page of the application in place of the API', async () => {
    const { ask } = await withFiles();
    const browser = await ask('/', { headers: { Accept: 'text/html,application/xhtml+xml' } });
    const program = await ask('/', { headers: { Accept: '*/*' } });
    expect(browser.text).toBe('<p>page</p>');
    expect(JSON.parse(program.text)).toMatchObject({ return: 'Welcome' });
  });
});

describe('who may come', () => {
  test('authorized_ips refuses all others, before anything else', async () => {
    const { ask } = await served({ rest: { authorized_ips: ['10.0.0.1'] } });
    const answer = await ask('/');
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('Bad IP');
  });

  test('api_acl refuses users from other addresses', async () => {
    const { post } = await served({ rest: { api_acl: { users: { alice: ['10.0.0.1'] } } } });
    const body = { username: 'alice', password: 'right', eauth: 'pam' };
    expect((await post('/login', body, {})).status).toBe(401);
  });

  test('root_prefix is before each address', async () => {
    const { ask } = await served({ rest: { root_prefix: '/salt/' } });
    expect((await ask('/salt/')).status).toBe(200);
    expect((await ask('/login')).status).toBe(404);
  });

  test('without enable_sessions, addresses of sessions are not found', async () => {
    const { ask } = await served({ rest: { enable_sessions: false } });
    expect((await ask('/login')).status).toBe(404);
    expect((await ask('/minions')).status).toBe(404);
  });
});

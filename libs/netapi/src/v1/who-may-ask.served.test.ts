// Each address of the document: without a log-in, with a body of a form, from another origin.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeScenes, served } from '../../test/served-scene.ts';

/** Addresses that are open to all; each has a reason. */
const OPEN: ReadonlyMap<string, string> = new Map([
  ['POST /v1/session', 'it is the log-in'],
  ['GET /v1/log-ins', 'a page has to offer modules before anybody is logged in'],
]);

interface Route {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly takesBody: boolean;
}

let scene: Awaited<ReturnType<typeof served>>;
const routes: Route[] = [];

beforeAll(async () => {
  scene = await served();
  const { text } = await scene.ask('/v1/openapi.json');
  const { paths } = JSON.parse(text) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { requestBody?: unknown }>>>>;
  };
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      const takesBody = requestBody !== undefined;
      const filled = path.replaceAll(/\{[^}]+\}/g, 'web1');
      routes.push({ name, method: method.toUpperCase(), path: filled, takesBody });
    }
  }
});
afterAll(closeScenes);

/** What each address answers, by the name of its route. */
async function answers(
  of: (route: Route) => boolean,
  sent: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
): Promise<Readonly<Record<string, string>>> {
  const found: [string, string][] = [];
  for (const route of routes.filter(of)) {
    const { method, path, name, takesBody } = route;
    const { body, headers = {} } = sent;
    const answer = await scene.ask(path, {
      method,
      headers,
      ...(takesBody ? { body: body ?? '{}' } : {}),
    });
    const { code = '' } = JSON.parse(answer.text || '{}') as { readonly code?: string };
    found.push([name, `${answer.status} ${code}`]);
  }
  return Object.fromEntries(found);
}

const all = (of: (route: Route) => boolean, answer: string): Readonly<Record<string, string>> =>
  Object.fromEntries(routes.filter(of).map(({ name }) => [name, answer]));

test('the document is not empty, and names what is open', () => {
  expect(routes.length).toBeGreaterThan(4);
  const names = routes.map(({ name }) => name);
  for (const name of OPEN.keys()) expect(names).toContain(name);
});

test.each([
  ['no log-in', {}],
  ['an empty token', { 'X-Auth-Token': '' }],
  ['the token of nobody', { 'X-Auth-Token': 'f'.repeat(40) }],
  ['a bearer that is none', { Authorization: 'Bearer ../../x' }],
  ['a cookie of nobody', { Cookie: `session_id=${'f'.repeat(40)}` }],
])('each address but the open ones refuses %s', async (_, headers) => {
  const isClosed = ({ name }: Route): boolean => !OPEN.has(name);
  const before = scene.scene.master.loads.length;
  expect(await answers(isClosed, { headers })).toEqual(all(isClosed, '401 not-logged-in'));
  // Nothing but the question whose token it is reached a worker.
  const asked = scene.scene.master.loads.slice(before).map((load) => load.get('cmd'));
  expect(new Set(asked)).toEqual(new Set(asked.filter((cmd) => cmd === 'get_token')));
});

test.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])(
  'each body as %s is refused',
  async (type) => {
    const takesBody = (route: Route): boolean => route.takesBody;
    const headers = { ...scene.known, 'Content-Type': type };
    const refused = await answers(takesBody, { headers, body: '{"a":1}' });
    expect(refused).toEqual(all(takesBody, '415 not-json'));
  },
);

test.each([
  ['its origin', { Origin: 'http://evil.example' }],
  ['its site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['another port of the host', { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' }],
  ['an origin without a name', { Origin: 'null' }],
])('each address refuses the cookie from a page of elsewhere, known by %s', async (_, page) => {
  const headers = { ...page, Cookie: `session_id=${scene.token}` };
  const any = (): boolean => true;
  expect(await answers(any, { headers })).toEqual(all(any, '403 other-origin'));
});

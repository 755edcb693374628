import { PROBLEMS } from '@brine/api';
import { type ApiDocument, type ApiInfo, type DescribedApp, documentOf } from '@brine/http';
import { COOKIE } from '../rest-cherrypy/asked.ts';

/** What the document states of the whole API. */
export const API_INFO = (version: string): ApiInfo => ({
  title: 'Brine',
  cookie: COOKIE,
  version,
  description: 'What a Brine master knows and does. Errors are problems as of RFC 9457.',
  tags: [
    { name: 'session', description: 'Log-in and rights' },
    { name: 'minions', description: 'The fleet: keys, presence, releases' },
    { name: 'jobs', description: 'Commands for minions, and what they returned' },
    { name: 'keys', description: 'Keys of minions' },
    { name: 'targets', description: 'Which minions a command means' },
    { name: 'events', description: 'What happened, and what happens' },
    { name: 'site', description: 'The master itself: services, options, functions' },
    { name: 'commands', description: 'For `brine --api`, elsewhere than on the host' },
  ],
});

const HTML = 'text/html; charset=utf-8';
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** `/v1/openapi.json` and `/v1/docs`, the same as a page. */
export function addDocument(app: DescribedApp, base: string): void {
  let text: { readonly json: string; readonly page: string } | undefined;
  const made = (): { readonly json: string; readonly page: string } => {
    if (text !== undefined) return text;
    const document = documentOf(app);
    return (text = { json: JSON.stringify(document), page: pageOf(document, base) });
  };
  app.get(
    '/openapi.json',
    { exposeHeadRoute: true, schema: { hide: true, security: [] } },
    (_request, reply) => reply.type('application/json').serializer(asIs).send(made().json),
  );
  app.get(
    '/docs',
    { exposeHeadRoute: true, schema: { hide: true, security: [] } },
    (_request, reply) =>
      reply.header('Content-Security-Policy', POLICY).type(HTML).serializer(asIs).send(made().page),
  );
}

function asIs(value: unknown): string {
  return String(value);
}

/** The document for people: routes, schemas and codes of errors, each with an anchor. */
function pageOf(document: ApiDocument, base: string): string {
  const { components = {}, paths = {} } = document as {
    readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
    readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => routeOf(path, method, operation)),
  );
  const codes = Object.entries(PROBLEMS).map(
    ([code, { status, title, retryable }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${escaped(title)}</td>` +
      `<td>${retryable ? 'yes' : 'no'}</td></tr>`,
  );
  const schemas = Object.entries(components.schemas ?? {}).map(
    ([name, schema]) =>
      `<h3 id="schema-${escaped(name)}">${escaped(name)}</h3><pre>${pretty(schema)}</pre>`,
  );
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Brine API</title>',
    '<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}',
    'pre{background:#f4f4f4;padding:1rem;overflow:auto}td,th{text-align:left;padding:.2rem 1rem',
    ' .2rem 0}:target{background:#fff3bf}</style></head><body><h1>Brine API</h1>',
    `<p>The same for programs: <a href="${base}/openapi.json">openapi.json</a>.</p>`,
    '<h2>Addresses</h2>',
    ...routes,
    '<h2>Errors</h2><table><tr><th>code</th><th>status</th><th>meaning</th><th>again</th></tr>',
    ...codes,
    '</table><h2>Schemas</h2>',
    ...schemas,
    '</body></html>',
  ].join('\n');
}

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: unknown;
  readonly requestBody?: unknown;
  readonly responses?: unknown;
}

function routeOf(path: string, method: string, operation: Operation): string {
  const { summary = '', description = '', parameters, requestBody, responses } = operation;
  const name = `${method.toUpperCase()} ${path}`;
  return [
    `<h3>${escaped(name)}</h3><p>${escaped(`${summary}. ${description}`)}</p>`,
    `<details><summary>what it takes and answers</summary>`,
    `<pre>${pretty({ parameters, requestBody, responses })}</pre></details>`,
  ].join('\n');
}

function pretty(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2));
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

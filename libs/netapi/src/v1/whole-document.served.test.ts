// Each route, parameter and error that the application has is in the document, and in docs/api.md.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PROBLEMS } from '@brine/api';
import { HttpListener } from '@brine/http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiDocument } from '../../test/api-document.ts';
import { ApiScene } from '../../test/api-scene.ts';
import { addV1 } from './v1.ts';

const PAGE = fileURLToPath(new URL('../../../../docs/api.md', import.meta.url));
/** They describe the others. */
const HIDDEN = ['GET /v1/openapi.json', 'GET /v1/docs'];

interface Route {
  readonly name: string;
  /** The names of its parameters, by the part of the request. */
  readonly parameters: readonly string[];
  readonly takesBody: boolean;
  readonly isHidden: boolean;
}

const scene = new ApiScene();
const routes: Route[] = [];
let listener: HttpListener;
let document: ApiDocument;
let page = '';

/** The fields of a schema of zod. */
function fieldsOf(schema: unknown): string[] {
  return Object.keys((schema as { readonly shape?: object } | undefined)?.shape ?? {});
}

beforeAll(async () => {
  listener = await HttpListener.start({
    address: { host: '127.0.0.1', port: 0 },
    limits: { drainMs: 50 },
    build: async (app) => {
      app.addHook('onRoute', ({ method, url, schema = {} }) => {
        const path = url.replaceAll(/:(\w+)/g, '{$1}');
        const { params, querystring, body, hide = false } = schema as Record<string, unknown>;
        const parameters = [...fieldsOf(params), ...fieldsOf(querystring)];
        for (const one of [method].flat()) {
          const name = `${one} ${path}`;
          routes.push({ name, parameters, takesBody: body !== undefined, isHidden: hide === true });
        }
      });
      await addV1(app, '', scene.v1);
    },
    errorPage: (status) => String(status),
    onTaken: () => undefined,
    onListening: () => undefined,
  });
  const base = listener.endpoint ?? '';
  document = (await (await fetch(`${base}/v1/openapi.json`)).json()) as ApiDocument;
  page = await readFile(PAGE, 'utf8');
});
afterAll(async () => {
  await listener.close();
  await scene.close();
});

/** Routes that do something. HEAD comes with GET; a method that is refused by name is none. */
function shown(): Route[] {
  return routes.filter(({ name, isHidden }) => !isHidden && !name.startsWith('HEAD '));
}

function operationOf(name: string) {
  const [method = '', path = ''] = name.split(' ');
  return document.paths[path]?.[method.toLowerCase()];
}

test('each route is in the document, and the document has no other', () => {
  const inDocument = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(inDocument.length).toBeGreaterThan(20);
  expect(
    shown()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(inDocument.sort());
  // Only what describes it is left out, and methods that no address has.
  const hidden = routes.filter(({ isHidden }) => isHidden).map(({ name }) => name);
  expect(hidden).toEqual(expect.arrayContaining(HIDDEN));
  const doing = new Set(shown().map(({ name }) => name));
  expect(hidden.filter((name) => doing.has(name))).toEqual([]);
});

test('each route has a HEAD beside its GET, or is a stream', () => {
  const names = new Set(routes.filter(({ isHidden }) => !isHidden).map(({ name }) => name));
  const without = [...names].filter(
    (name) => name.startsWith('GET ') && !names.has(name.replace('GET', 'HEAD')),
  );
  const isStream = (name: string): boolean =>
    'text/event-stream' in (operationOf(name)?.responses['200']?.content ?? {});
  expect(without.filter((name) => !isStream(name))).toEqual([]);
});

test('each parameter of a route is in the document with a type, and so is its body', () => {
  for (const { name, parameters, takesBody } of shown()) {
    const { parameters: described = [], requestBody } = operationOf(name) ?? {};
    const names = described.filter((one) => one.in !== 'header').map((one) => one.name);
    expect(names.sort(), name).toEqual([...parameters].sort());
    for (const { name: of, schema } of described) expect(schema, `${name} ${of}`).toBeTruthy();
    expect(requestBody !== undefined, name).toBe(takesBody);
  }
});

test('each route describes its errors as problems, and each code is in the document', () => {
  for (const { name } of shown()) {
    const responses = Object.entries(operationOf(name)?.responses ?? {});
    const errors = responses.filter(([status]) => Number(status) >= 400);
    expect(errors.length, name).toBeGreaterThan(0);
    for (const [status, { content = {} }] of errors) {
      expect(Object.keys(content), `${name} ${status}`).toEqual(['application/problem+json']);
    }
  }
  const codes = document.components.schemas['Problem']?.properties?.['code']?.enum;
  expect(codes).toEqual(Object.keys(PROBLEMS));
});

test('docs/api.md has each route with its parameters, and each code', () => {
  const sections = new Map(
    page.split(/^### /m).map((text) => [text.slice(0, text.indexOf('\n')), text]),
  );
  for (const { name, parameters } of shown()) {
    const section = sections.get(name) ?? '';
    expect(section, name).not.toBe('');
    for (const parameter of parameters) expect(section, name).toContain(`| \`${parameter}\` |`);
  }
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`| \`${code}\` |`);
});

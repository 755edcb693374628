import { readFile } from 'node:fs/promises';
import type { HttpApp } from '@brine/http';

/** Files of the page, by their names in an address. */
const FILES: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ['', { file: 'index.html', type: 'text/html; charset=utf-8' }],
  ['console.js', { file: 'console.js', type: 'text/javascript; charset=utf-8' }],
  ['console.css', { file: 'console.css', type: 'text/css; charset=utf-8' }],
]);

const PAGES = new URL('../../pages/', import.meta.url);

/** Nothing inline, nothing of another origin, in no frame. The icon is an empty `data:`. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-cache',
} as const;

/** Serves the log-in page at `/console/`. It is open to all, and has no data. */
export async function addConsole(app: HttpApp, prefix: string): Promise<void> {
  const pages = new Map<string, { readonly bytes: Buffer; readonly type: string }>();
  for (const [name, { file, type }] of FILES) {
    pages.set(name, { bytes: await readFile(new URL(file, PAGES)), type });
  }
  const base = `${prefix}/console`;
  for (const url of [base, `${base}/*`]) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler: async (request, reply) => {
        const { '*': name = '' } = request.params as { readonly '*'?: string };
        const [path = ''] = request.url.split('?');
        // The files of the page are named from there.
        if (name === '' && !path.endsWith('/')) return reply.redirect(`${base}/`, 302);
        const page = pages.get(name);
        if (page === undefined) return reply.callNotFound();
        return reply.headers(HEADERS).type(page.type).send(page.bytes);
      },
    });
  }
}

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type HttpApp, serveBuilt } from '@brine/http';

/** In the place of a nonce in the built page (apps/console vite.config.ts). */
const NONCE = 'nonce-of-the-answer';
const NONCE_BYTES = 16;
/** The built page names its files from its own place; its addresses have many. */
const FILES = './assets/';

const HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
} as const;

/**
 * Nothing inline but styles with the nonce of this answer, nothing of another origin, in no frame;
 * markup is not made from texts. The icon is an empty `data:`.
 */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/**
 * Serves the pages of the console below `/console/`. They are open to all, and have no data. Each
 * address there is a page: the page itself knows which.
 * @param dir the build of apps/console; where there is none, the answer is how to make it
 */
export async function addConsole(app: HttpApp, prefix: string, dir: string): Promise<void> {
  const base = `${prefix}/console`;
  const page = await builtPage(dir, base);
  if (page !== undefined) await serveBuilt(app, join(dir, 'assets'), `${base}/assets`);
  for (const url of [base, `${base}/*`]) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => {
        const [path = ''] = request.url.split('?');
        // The addresses of the page begin there.
        if (path === base) return reply.redirect(`${base}/`, 302);
        void reply.headers(HEADERS).type('text/html; charset=utf-8');
        if (page === undefined) return reply.code(503).send(NOT_BUILT);
        const nonce = randomBytes(NONCE_BYTES).toString('base64url');
        void reply.header('Content-Security-Policy', policyOf(nonce));
        return reply.send(page.replaceAll(NONCE, nonce));
      },
    });
  }
}

const NOT_BUILT = '<!doctype html><title>Brine</title>The console is not built: npm run build\n';

async function builtPage(dir: string, base: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(dir, 'index.html'), 'utf8');
    return text.replaceAll(`"${FILES}`, `"${base}/assets/`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

import fastifyStatic from '@fastify/static';
import type { HttpApp } from './http-listener.ts';

/**
 * Serves files of a build below a path, with compressed copies (`.br`, `.gz`) that stand beside
 * them. Their names change with what is in them, so that a browser keeps them for good.
 */
export async function serveBuilt(app: HttpApp, dir: string, path: string): Promise<void> {
  await app.register(fastifyStatic, {
    root: dir,
    prefix: `${path}/`,
    decorateReply: false,
    index: false,
    dotfiles: 'ignore',
    preCompressed: true,
    immutable: true,
    maxAge: '1y',
  });
}

import { basename, dirname, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { HttpApp, HttpReply } from './http-listener.ts';

/**
 * Serves the files of a directory below a path, without listings, links out of it, or hidden files.
 */
export async function serveDirectory(app: HttpApp, dir: string, path: string): Promise<void> {
  await app.register(fastifyStatic, {
    root: resolve(dir),
    prefix: `${path}/`,
    index: false,
    list: false,
    dotfiles: 'deny',
    decorateReply: !app.hasReplyDecorator('sendFile'),
    // Files may come and go while the service runs.
    wildcard: true,
    redirect: false,
  });
}

/** Lets replies send single files. */
export async function allowFiles(app: HttpApp): Promise<void> {
  await app.register(fastifyStatic, { root: '/', serve: false });
}

/** Sends one file; its type follows from its name. */
export function sendFile(reply: HttpReply, path: string): HttpReply {
  const whole = resolve(path);
  return reply.sendFile(basename(whole), dirname(whole));
}

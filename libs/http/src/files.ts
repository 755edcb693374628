import { basename, dirname, resolve } from 'node:path';
import { findBelow } from '@brine/files';
import fastifyStatic from '@fastify/static';
import type { HttpApp, HttpReply } from './http-listener.ts';

/** Thrown for a path that leads out of a directory, or to a hidden file. */
class ForbiddenPathError extends Error {
  readonly statusCode = 403;

  constructor() {
    super('the path leads out of the directory, or to a hidden file');
    this.name = 'ForbiddenPathError';
  }
}

/**
 * Serves the files of a directory below a path, without listings, links out of it, or hidden files.
 * The application sends files: {@link allowFiles}.
 */
export function serveDirectory(app: HttpApp, dir: string, path: string): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: `${path}/*`,
    handler: async (request, reply) => {
      const { '*': rest = '' } = request.params as { readonly '*'?: string };
      if (rest.split('/').some((part) => part.startsWith('.'))) throw new ForbiddenPathError();
      const found = await findBelow(dir, rest);
      return found === undefined ? reply.callNotFound() : sendFile(reply, found);
    },
  });
}

/** Serves one file at a path, and with `/*` below it. */
export function serveFile(app: HttpApp, file: string, url: string): void {
  app.route({ method: ['GET', 'HEAD'], url, handler: (_request, reply) => sendFile(reply, file) });
}

/** Lets replies send files. */
export async function allowFiles(app: HttpApp): Promise<void> {
  await app.register(fastifyStatic, { root: '/', serve: false });
}

/** Sends one file; its type follows from its name. */
export function sendFile(reply: HttpReply, path: string): HttpReply {
  const whole = resolve(path);
  return reply.sendFile(basename(whole), dirname(whole));
}

import type { HttpApp, HttpRequest } from './http-listener.ts';
import { addSocketPath } from './upgrades.ts';

import '@fastify/websocket';

/** A connection that was upgraded to a WebSocket. */
export interface HttpSocket {
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it without a closing frame. */
  terminate(): void;
  on(event: 'message' | 'close' | 'error', listener: (data?: unknown) => void): void;
}

/** Who may connect to an address, and what follows. */
export interface SocketRoute<T> {
  /** Before the upgrade; an error becomes the answer. */
  readonly admit: (request: HttpRequest) => Promise<T>;
  /** Listeners must be set before it returns: a message may have come with the upgrade. */
  readonly onSocket: (socket: HttpSocket, request: HttpRequest, admitted: T) => void;
}

/** Serves an address that is not found without an upgrade. */
export function serveSockets<T>(
  app: HttpApp,
  url: string,
  { admit, onSocket }: SocketRoute<T>,
): void {
  addSocketPath(app.server, app.prefix + url);
  const admitted = new WeakMap<HttpRequest, T>();
  app.route({
    method: 'GET',
    url,
    preHandler: async (request) => {
      if (request.ws) admitted.set(request, await admit(request));
    },
    handler: (_request, reply) => reply.callNotFound(),
    wsHandler: (socket, request) =>
      onSocket(socket as HttpSocket, request, admitted.get(request) as T),
  });
}

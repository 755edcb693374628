import type { HttpApp, HttpRequest } from './http-listener.ts';

import '@fastify/websocket';

/** A connection that was upgraded to a WebSocket. */
export interface HttpSocket {
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it without a word. */
  terminate(): void;
  on(event: 'message' | 'close' | 'error', listener: (data?: unknown) => void): void;
}

/** Serves an address that is not found without an upgrade. */
export function serveSockets(
  app: HttpApp,
  url: string,
  onSocket: (socket: HttpSocket, request: HttpRequest) => void,
): void {
  app.route({
    method: 'GET',
    url,
    handler: (_request, reply) => reply.callNotFound(),
    wsHandler: (socket, request) => onSocket(socket as HttpSocket, request),
  });
}

export { whenClosed } from './closed.ts';
export { clearOwnCookie, cookieOf, setOwnCookie } from './cookies.ts';
export { allowFiles, sendFile, serveDirectory, serveFile } from './files.ts';
export type {
  HttpAddress,
  HttpApp,
  HttpListenerOptions,
  HttpReply,
  HttpRequest,
} from './http-listener.ts';
export { HttpListener } from './http-listener.ts';
export type { HttpLimits } from './limits.ts';
export { HTTP_LIMITS } from './limits.ts';
export type { HttpSocket, SocketRoute } from './sockets.ts';
export { serveSockets } from './sockets.ts';

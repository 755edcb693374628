export { whenClosed } from './closed.ts';
export { clearOwnCookie, ownCookieOf, setOwnCookie } from './cookies.ts';
export { allowFiles, sendFile, serveDirectory, serveFile } from './files.ts';
export type { HttpAddress, HttpApp, HttpReply, HttpRequest } from './http-listener.ts';
export { HttpListener } from './http-listener.ts';
export { HTTP_LIMITS } from './limits.ts';
export type { HttpSocket } from './sockets.ts';
export { serveSockets } from './sockets.ts';

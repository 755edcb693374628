import { IncomingMessage, type Server } from 'node:http';

const SOCKET_PATHS = new WeakMap<Server, Set<string>>();

/** Adds a path with WebSockets to a server that was made with {@link requestsOf}. */
export function addSocketPath(server: Server, path: string): void {
  SOCKET_PATHS.get(server)?.add(normal(path));
}

/** Lets {@link addSocketPath} add to the paths of a server. */
export function keepSocketPaths(server: Server, paths: Set<string>): void {
  SOCKET_PATHS.set(server, paths);
}

/**
 * The class of the requests of a server with WebSockets at these paths. Node hands each request for
 * another protocol to the one listener for upgrades. All but those for a WebSocket are requests
 * like others here, such as curl's for HTTP/2: a server may ignore them (RFC 9110, 7.8).
 */
export function requestsOf(paths: ReadonlySet<string>): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** As the parser found it. */
    asked: unknown;

    get upgrade(): boolean {
      const { method, headers, url = '' } = this;
      if (this.asked !== true || method === 'CONNECT') return this.asked === true;
      const isSocket = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
      return isSocket && paths.has(normal(url.split('?', 1)[0] ?? ''));
    }

    set upgrade(asked: unknown) {
      this.asked = asked;
    }
  };
}

/** As the router compares paths. */
function normal(path: string): string {
  return path.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '');
}

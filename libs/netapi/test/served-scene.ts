import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { until } from '@brine/testing/waits';
import { ApiScene, type SceneOptions } from './api-scene.ts';

const HOST = '127.0.0.1';
const JSON_BODY = { 'Content-Type': 'application/json' };
const scenes: ApiScene[] = [];

/** What is sent to a scene. */
export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A served scene, a session of `alice`, and how to ask. */
export async function served(options: SceneOptions = {}) {
  const scene = new ApiScene(options);
  scenes.push(scene);
  const base = await scene.serve();
  const token = await scene.logIn();
  const ask = async (path: string, { method = 'GET', headers = {}, body }: Sent = {}) => {
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : JSON_BODY), ...headers },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const known = { 'X-Auth-Token': token };
  const post = (path: string, body?: unknown, headers: Sent['headers'] = known) =>
    ask(path, { method: 'POST', headers, body });
  return { scene, base, port: Number(new URL(base).port), token, known, ask, post };
}

/** A scene that is served with TLS, and its port. */
export async function servedByTls(
  tls: { readonly crt: string; readonly key: string },
  options: SceneOptions = {},
) {
  const scene = new ApiScene(options);
  scenes.push(scene);
  const port = Number(new URL(await scene.serve(tls)).port);
  return { scene, port, token: await scene.logIn() };
}

/** The scene that was served last. */
export function lastScene(): ApiScene | undefined {
  return scenes.at(-1);
}

/** Closes all scenes. */
export async function closeScenes(): Promise<void> {
  await Promise.all(scenes.splice(0).map((scene) => scene.close()));
}

/** Sends bytes as they are; resolves with the answer once the server has closed. */
export async function raw(
  port: number,
  text: string | Uint8Array,
  { isTls = false }: { readonly isTls?: boolean } = {},
): Promise<string> {
  const socket = isTls
    ? connectTls({ port, host: HOST, rejectUnauthorized: false })
    : connect(port, HOST);
  socket.setEncoding('latin1');
  let answer = '';
  let isClosed = false;
  socket.on('data', (part: string) => (answer += part)).on('close', () => (isClosed = true));
  socket.on('error', () => undefined);
  socket.write(text);
  await until('the server closes', () => isClosed);
  return answer;
}

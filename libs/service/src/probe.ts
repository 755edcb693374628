import { request } from 'node:http';
import type { ServiceState } from './child-service.ts';

const PROBE_TIMEOUT_MS = 1000;
/** A status is a few numbers; more than this is not read. */
const BODY_BYTES_MAX = 1_048_576;

/** A service as it was found when asked. */
export interface ProbedService extends ServiceState {
  /** True where it answered that it serves. */
  readonly ready: boolean;
  /** What the service tells of itself; undefined where it did not answer. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
}

/** Asks the health endpoint of a service. Never rejects: no answer is an answer. */
export async function probeService(state: ServiceState, host: string): Promise<ProbedService> {
  if (state.healthPort === undefined) return { ...state, ready: false, status: undefined };
  const address = { host: host === '0.0.0.0' ? '127.0.0.1' : host, port: state.healthPort };
  const [ready, status] = await Promise.all([get(address, '/readyz'), get(address, '/status')]);
  return { ...state, ready: ready?.code === 200, status: parse(status?.body) };
}

function get(
  address: { host: string; port: number },
  path: string,
): Promise<{ code: number; body: string } | undefined> {
  return new Promise((resolve) => {
    const giveUp = (): void => resolve(undefined);
    const asked = request(
      { ...address, path, timeout: PROBE_TIMEOUT_MS, agent: false },
      (reply) => {
        let body = '';
        reply.setEncoding('utf8');
        reply.on('data', (chunk: string) => {
          body += chunk;
          if (body.length > BODY_BYTES_MAX) asked.destroy();
        });
        reply.on('end', () => resolve({ code: reply.statusCode ?? 0, body }));
        reply.on('error', giveUp);
      },
    );
    asked.on('timeout', () => asked.destroy());
    asked.on('error', giveUp);
    asked.on('close', giveUp);
    asked.end();
  });
}

function parse(body: string | undefined): Record<string, unknown> | undefined {
  if (body === undefined) return undefined;
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    // Something else listens on that port by now.
    return undefined;
  }
}

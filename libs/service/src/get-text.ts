import { request } from 'node:http';

/** How long to wait for an answer, and how much of it to read. */
export interface GetLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly accept?: string;
}

/**
 * Asks an HTTP endpoint of this host. Never rejects: an answer that is missing, too late or too
 * long is undefined. It does not use `fetch`, which refuses ports that browsers block (6000,
 * 10080): an operator may choose any port for health and metrics.
 */
export function getText(
  address: { readonly host: string; readonly port: number },
  path: string,
  limits: GetLimits,
): Promise<{ readonly code: number; readonly body: string } | undefined> {
  const { timeoutMs, maxBytes, accept } = limits;
  const host = address.host === '0.0.0.0' ? '127.0.0.1' : address.host;
  const headers = accept === undefined ? {} : { accept };
  const options = { host, port: address.port, path, headers, timeout: timeoutMs, agent: false };
  return new Promise((resolve) => {
    const giveUp = (): void => resolve(undefined);
    const asked = request(options, (reply) => {
      let body = '';
      reply.setEncoding('utf8');
      reply.on('data', (chunk: string) => {
        body += chunk;
        if (body.length > maxBytes) asked.destroy();
      });
      reply.on('end', () => resolve({ code: reply.statusCode ?? 0, body }));
      reply.on('error', giveUp);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', giveUp);
    asked.on('close', giveUp);
    asked.end();
  });
}

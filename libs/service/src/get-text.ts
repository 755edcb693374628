import { request } from 'node:http';

/** How much of an answer is waited for and read. */
export interface GetLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly accept?: string;
}

/**
 * Asks an HTTP endpoint of this host. Never rejects: no answer, or one that is too long or too
 * late, is undefined.
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

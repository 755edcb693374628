import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { startHealth } from './health.ts';

const SOURCE = {
  ready: () => true,
  status: () => ({ minions: ['db1.secret.example'] }),
  metrics: () => Promise.resolve('up 1\n'),
};

/** What a path answers to a client of this address. */
function ask(port: number, path: string, localAddress: string): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, localAddress }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('end', () => resolve([answer.statusCode ?? 0, body]));
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function served(): Promise<number> {
  const health = await startHealth(SOURCE, { host: '0.0.0.0', port: 0 });
  onTestFinished(() => health.close());
  return health.port;
}

test('every page is served on loopback', async () => {
  const port = await served();
  for (const path of ['/healthz', '/readyz', '/metrics', '/status']) {
    expect((await ask(port, path, '127.0.0.1'))[0], path).toBe(200);
  }
});

test('a probe from elsewhere is answered, but not with what the service knows', async (context) => {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  const outside = all.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  if (outside === undefined) return context.skip('this host has loopback only');
  const port = await served();
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    expect((await ask(port, path, outside))[0], path).toBe(200);
  }
  for (const path of ['/status', '/status?x=1']) {
    expect(await ask(port, path, outside)).toEqual([403, 'for this host only\n']);
  }
});

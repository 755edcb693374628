import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServiceCertificates } from './service-certificates.ts';

// Keys are made of primes, which on a busy machine takes seconds each.
vi.setConfig({ testTimeout: 180_000 });

const NAMES = { clients: ['gateway', 'worker'], server: 'nats' };
const DAY_MS = 86_400_000;

let dir: string;
let certificates: ServiceCertificates;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'services-'));
  certificates = new ServiceCertificates(dir, NAMES);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

interface Own {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** What a service has read, to be used later. */
async function own(name: string): Promise<Own> {
  const read = (file: string): Promise<string> => readFile(join(dir, name, file), 'utf8');
  const [ca, cert, key] = await Promise.all(['ca.crt', 'tls.crt', 'tls.key'].map(read));
  return { ca: ca!, cert: cert!, key: key! };
}

/** Whether both sides take each other: OpenSSL's word, not ours. */
async function meet(client: Partial<Own>, server: Own, host = 'localhost'): Promise<string> {
  // In TLS 1.3 a client hears only afterwards that it was refused.
  const listener = createServer(
    { ...server, requestCert: true, rejectUnauthorized: true },
    (socket) => socket.end('welcome'),
  );
  listener.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  try {
    return await new Promise<string>((resolve) => {
      const socket = connect({ ...client, host: '127.0.0.1', port, servername: host });
      socket.once('close', () => resolve('closed'));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      socket.once('data', (data: Buffer) => resolve(data.toString()));
    });
  } finally {
    listener.close();
  }
}

test('services and server take each other, and no other peer', async () => {
  await certificates.init(['nats.example'], 30);
  const [gateway, server] = [await own('gateway'), await own('nats')];
  expect(await meet(gateway, server)).toBe('welcome');
  expect(await meet(gateway, server, 'nats.example')).toBe('welcome');
  expect(await meet(gateway, server, 'other.example')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await meet({ ca: gateway.ca }, server)).not.toBe('welcome');
  // A gateway's certificate can not stand in the server's place.
  expect(await meet(gateway, gateway, 'gateway')).not.toBe('welcome');

  const elsewhere = new ServiceCertificates(join(dir, 'elsewhere'), NAMES);
  await elsewhere.init([], 30);
  const foreign = await own('elsewhere/gateway');
  expect(await meet({ ...foreign, ca: gateway.ca }, server)).not.toBe('welcome');
  expect(await meet(gateway, await own('elsewhere/nats'))).not.toBe('welcome');
});

test('private keys are for their owner only, and an authority is not made over another', async () => {
  await certificates.init([], 30);
  for (const path of ['authority/ca.pem', 'gateway/tls.key', 'nats/tls.key']) {
    expect((await stat(join(dir, path))).mode & 0o777, path).toBe(0o600);
  }
  for (const path of ['authority', 'gateway', 'nats']) {
    expect((await stat(join(dir, path))).mode & 0o777, path).toBe(0o700);
  }
  const before = await readFile(join(dir, 'authority/ca.pem'), 'utf8');
  await expect(certificates.init([], 30)).rejects.toMatchObject({ code: 'SALT_PKI_AUTHORITY' });
  expect(await readFile(join(dir, 'authority/ca.pem'), 'utf8')).toBe(before);
});

test('a renewal makes new keys for the same hosts, which meet the old ones', async () => {
  await certificates.init(['10.1.2.3', 'nats.example'], 1);
  const [oldGateway, oldServer] = [await own('gateway'), await own('nats')];
  await certificates.renew(90);
  const [gateway, server] = [await own('gateway'), await own('nats')];
  expect([gateway.key, server.key]).not.toContain(oldGateway.key);
  expect(server.key).not.toBe(oldServer.key);
  expect(gateway.ca).toBe(oldGateway.ca);
  expect(new X509Certificate(server.cert).subjectAltName).toBe(
    new X509Certificate(oldServer.cert).subjectAltName,
  );
  expect(await meet(oldGateway, server, 'nats.example')).toBe('welcome');
  expect(await meet(gateway, oldServer, 'nats.example')).toBe('welcome');
});

test('while the authority changes, peers of the last step meet peers of this one', async () => {
  await certificates.init([], 30);
  const steps = [[await own('gateway'), await own('nats')] as const];
  for (const told of ['trusted', 'signing', 'done'] as const) {
    expect(await certificates.changeAuthority(30)).toBe(told);
    expect(await certificates.change()).toBe(told === 'done' ? undefined : told);
    steps.push([await own('gateway'), await own('nats')]);
  }
  for (const [at, [gateway, server]] of steps.entries()) {
    for (const [other, [, otherServer]] of steps.entries()) {
      const isNear = Math.abs(at - other) <= 1;
      const outcome = await meet(gateway, otherServer);
      if (isNear) expect(outcome, `${at} to ${other}`).toBe('welcome');
    }
    expect(await meet(gateway, server), `${at}`).toBe('welcome');
  }
  const [first, last] = [steps[0]!, steps[3]!];
  expect(await meet(first[0], last[1])).not.toBe('welcome');
  expect(await meet(last[0], first[1])).not.toBe('welcome');
});

test('the old authority is not forgotten while a certificate needs it', async () => {
  await certificates.init([], 30);
  const old = await own('worker');
  await certificates.changeAuthority(30);
  await certificates.changeAuthority(30);
  // As if the second step had been cut short.
  await writeFile(join(dir, 'worker/tls.crt'), old.cert);
  await writeFile(join(dir, 'worker/tls.key'), old.key);
  await expect(certificates.changeAuthority(30)).rejects.toThrow('worker (not of this authority)');
  await certificates.renew(30);
  expect(await certificates.changeAuthority(30)).toBe('done');
});

test('the list says what is wrong with a certificate', async () => {
  const until = Date.now() - DAY_MS;
  const before = new ServiceCertificates(dir, NAMES, () => until - 2 * DAY_MS);
  await before.init([], 2);
  const problems = async (): Promise<unknown> =>
    (await certificates.list()).map(({ problem }) => problem);
  expect(await problems()).toEqual([undefined, 'expired', 'expired', 'expired']);
  expect((await certificates.list())[1]!.until).toBe(Math.floor(until / 1000) * 1000);
  const gateway = await own('gateway');
  await certificates.renew(30);
  await writeFile(join(dir, 'gateway/tls.key'), gateway.key);
  await rm(join(dir, 'worker/tls.crt'));
  expect(await problems()).toEqual([undefined, 'wrong key', 'missing', undefined]);
  const other = new ServiceCertificates(join(dir, 'none'), NAMES);
  await expect(other.renew(1)).rejects.toThrow('brine pki init');
});

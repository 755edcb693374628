import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { CERTIFICATE_FILES, issueCertificate } from '@brine/crypt';
import { natsCertificates, startNats, type TestNats } from '@brine/testing';
import type { NodeConnectionOptions } from '@nats-io/transport-node';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connectBus } from './connect.ts';

/*
 * A NATS server beyond loopback takes only clients with a valid certificate of its authority.
 * A client is the service that its certificate names, whatever else it says.
 */

// Keys are made of primes, which on a busy machine takes seconds each.
vi.setConfig({ testTimeout: 180_000 });

const DAY_MS = 86_400_000;

let nats: TestNats;
let plain: TestNats;
let foreign: string;
beforeAll(async () => {
  nats = await startNats({ certificates: true });
  plain = await startNats({ streams: false });
  foreign = join(nats.dir, 'foreign');
  await natsCertificates(foreign).init([], 30);
}, 600_000);
afterAll(() => Promise.all([nats?.close(), plain?.close()]));

const read = (dir: string, name: string, kind: keyof typeof CERTIFICATE_FILES): string =>
  readFileSync(join(dir, name, CERTIFICATE_FILES[kind]), 'utf8');

/** The client as it comes, which believes the right server and shows what it is given. */
async function attempt(
  shown: { readonly cert?: string; readonly key?: string },
  more: NodeConnectionOptions = {},
): Promise<string> {
  const ca = read(nats.certificates, 'nats', 'roots');
  const servers = nats.server.url.replace('tls://', '');
  try {
    const tls = { ca, ...shown };
    const connection = await connect({ servers, tls, reconnect: false, timeout: 20_000, ...more });
    await connection.close();
    return 'in';
  } catch (error) {
    return (error as Error).message;
  }
}

const pairOf = (dir: string, name: string) => ({
  cert: read(dir, name, 'certificate'),
  key: read(dir, name, 'key'),
});

/** Why the server refused a client: the client may hear of a closed connection only. */
async function reason(text: string, times = 1): Promise<void> {
  const told = (): number => readFileSync(nats.server.logFile, 'utf8').split(text).length - 1;
  await expect.poll(told).toBe(times);
}

test('the server takes clients with a certificate of the authority, and no others', async () => {
  expect(await attempt(pairOf(nats.certificates, 'worker-pool'))).toBe('in');
  expect(await attempt({})).not.toBe('in');
  await reason("client didn't provide a certificate");
  expect(await attempt(pairOf(foreign, 'worker-pool'))).not.toBe('in');
  await reason('certificate signed by unknown authority');
});

test('an expired certificate of the right authority is refused, and one that names no service', async () => {
  const text = readFileSync(join(nats.certificates, 'authority', 'ca.pem'), 'utf8');
  const authority = { certificate: text, key: text.slice(text.indexOf('-----BEGIN PRIVATE')) };
  const from = Date.now() - DAY_MS;
  const old = { from, until: Date.now() - 60_000 };
  const late = await issueCertificate(authority, { name: 'worker-pool', use: 'client' }, old);
  expect(await attempt({ cert: late.certificate, key: late.key })).not.toBe('in');
  await reason('certificate has expired');
  const good = { from, until: Date.now() + DAY_MS };
  const odd = await issueCertificate(authority, { name: 'somebody', use: 'client' }, good);
  expect(await attempt({ cert: odd.certificate, key: odd.key })).not.toBe('in');
  await reason('authentication error');
  const gateway = await issueCertificate(authority, { name: 'req-gateway', use: 'client' }, good);
  expect(await attempt({ cert: gateway.certificate, key: gateway.key })).toBe('in');
  // The server's own opens it to other servers, not to clients.
  expect(await attempt(pairOf(nats.certificates, 'nats'))).not.toBe('in');
  await reason('authentication error', 2);
});

test('a name and a password beside the certificate of a gateway change nothing', async () => {
  const shown = pairOf(nats.certificates, 'req-gateway');
  const ca = read(nats.certificates, 'nats', 'roots');
  const servers = nats.server.url.replace('tls://', '');
  for (const user of ['worker-pool', 'admin', 'event-bus']) {
    const as = { user, pass: '' };
    const connection = await connect({ servers, tls: { ca, ...shown }, reconnect: false, ...as });
    const refused = connection.closed();
    connection.publish('$KV.brine_keys.forged', 'x');
    connection.publish('brine.events.ret', 'x');
    const errors: string[] = [];
    const listening = (async () => {
      for await (const status of connection.status()) {
        if (status.type === 'error') errors.push(status.error.message);
      }
    })();
    await connection.flush();
    await expect.poll(() => errors.length).toBeGreaterThanOrEqual(2);
    await connection.close();
    await Promise.all([refused, listening]);
    expect(errors.every((text) => /permissions violation/i.test(text))).toBe(true);
  }
});

test('without TLS the server says nothing but that it wants it', async () => {
  const port = nats.server.port;
  const answer = await new Promise<string>((resolve) => {
    let said = '';
    const socket = connectPlain(port, '127.0.0.1', () => {
      socket.write('CONNECT {"verbose":true,"user":"admin"}\r\nPING\r\n');
    });
    socket.on('data', (data: Buffer) => (said += data.toString()));
    socket.on('error', () => resolve(said));
    socket.on('close', () => resolve(said));
  });
  expect(answer).toContain('"tls_required":true');
  expect(answer).not.toMatch(/\+OK|PONG/);
});

test('a service that wants TLS takes no server without it, nor one of a foreign authority', async () => {
  const asks = { name: 'worker-pool', connectTimeoutMs: 500 } as const;
  const stripped = plain.server.url.replace('nats://', 'tls://');
  const { certificates } = nats;
  await expect(connectBus({ ...asks, url: stripped, certificates })).rejects.toMatchObject({
    code: 'BUS_UNREACHABLE',
    message: expect.stringContaining('tls'),
  });
  const mixed = { ...asks, url: nats.server.url, certificates: foreign };
  await expect(connectBus(mixed)).rejects.toMatchObject({
    code: 'BUS_UNREACHABLE',
    message: expect.stringContaining('certificate'),
  });
});

test('a server is taken only under the name or the address that its certificate has', async () => {
  const text = readFileSync(join(nats.certificates, 'authority', 'ca.pem'), 'utf8');
  const authority = { certificate: text, key: text.slice(text.indexOf('-----BEGIN PRIVATE')) };
  const validity = { from: Date.now() - DAY_MS, until: Date.now() + DAY_MS };
  const { port } = nats.server;
  const reached = async (host: string): Promise<string> => {
    const asks = { name: 'worker-pool', connectTimeoutMs: 1_000 } as const;
    try {
      const { certificates } = nats;
      const bus = await connectBus({ ...asks, url: `tls://${host}:${port}`, certificates });
      await bus.close();
      return 'in';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const reloads = (): number =>
    readFileSync(nats.server.logFile, 'utf8').split('Reloaded server configuration').length;
  const serve = async (hosts: readonly string[]): Promise<void> => {
    const made = await issueCertificate(
      authority,
      { name: 'nats', use: 'server', hosts },
      validity,
    );
    const own = join(nats.certificates, 'nats');
    writeFileSync(join(own, CERTIFICATE_FILES.certificate), made.certificate);
    writeFileSync(join(own, CERTIFICATE_FILES.key), made.key);
    const before = reloads();
    nats.server.reload();
    await expect.poll(reloads).toBeGreaterThan(before);
  };
  await serve(['127.0.0.1']);
  expect(await reached('127.0.0.1')).toBe('in');
  expect(await reached('localhost')).toMatch(/altnames/i);
  await serve(['localhost']);
  expect(await reached('localhost')).toBe('in');
  expect(await reached('127.0.0.1')).toMatch(/altnames/i);
  await serve(['localhost', '127.0.0.1']);
});

test('beyond loopback nothing is said without TLS, unless that is wanted', async () => {
  const asks = { name: 'req-gateway', connectTimeoutMs: 1 } as const;
  for (const url of ['nats://nats.invalid:4222', 'nats.invalid', 'nats://127.0.0.1.invalid']) {
    await expect(connectBus({ ...asks, url }), url).rejects.toMatchObject({
      code: 'BUS_EXPOSED',
      message: expect.stringContaining('brine pki init'),
    });
  }
  const some = 'nats://127.0.0.1:4222,nats://u:p@nats.invalid:4222';
  await expect(connectBus({ ...asks, url: some })).rejects.toThrow(/tls:\/\/nats\.invalid:4222/);
  const wanted = connectBus({ ...asks, url: 'nats://nats.invalid:4222', plain: true });
  await expect(wanted).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
});

test('a connection says when its certificate ends, as the file says now', async () => {
  const bus = await nats.connect('syndic-relay');
  const path = join(nats.certificates, 'syndic-relay', CERTIFICATE_FILES.certificate);
  const { validTo } = new X509Certificate(readFileSync(path));
  expect(bus.certificateEnd).toBe(Date.parse(validTo));
  writeFileSync(path, read(foreign, 'syndic-relay', 'certificate'));
  expect(bus.certificateEnd).toBeLessThan(Date.parse(validTo));
  expect((await plain.connect('syndic-relay')).certificateEnd).toBeUndefined();
});

test('an error names the missing file at once', async () => {
  const url = nats.server.url;
  const certificates = join(nats.dir, 'nowhere');
  await expect(connectBus({ url, name: 'publisher', certificates })).rejects.toMatchObject({
    code: 'BUS_NO_CERTIFICATE',
    message: expect.stringContaining(join(certificates, 'publisher', 'ca.crt')),
  });
});

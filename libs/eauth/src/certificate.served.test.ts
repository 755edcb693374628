import { execFileSync } from 'node:child_process';
import { createPrivateKey, sign } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CertificateLogin, proofText } from './certificate.ts';

let dir = '';
const openssl = (...args: readonly string[]): void =>
  void execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });

/** A key and a certificate for a name, from the authority or signed by itself. */
function issue(name: string, from?: string): void {
  const subject = ['-subj', `/O=test/CN=${name}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
  const by = from === undefined ? [] : ['-CA', `${from}.crt`, '-CAkey', `${from}.key`];
  openssl('req', '-x509', ...key, ...subject, ...files, ...by, '-days', '2');
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pki-'));
  issue('authority');
  issue('anne', 'authority');
  issue('bob', 'authority');
  issue('stranger');
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const nowS = (): string => String(Math.floor(Date.now() / 1000));

async function password(name: string, text: string, seconds: string, key = name): Promise<string> {
  const pem = await readFile(join(dir, `${name}.crt`), 'utf8');
  const privateKey = createPrivateKey(await readFile(join(dir, `${key}.key`)));
  const proof = sign('sha256', Buffer.from(text), privateKey).toString('base64');
  return `${pem}${seconds} ${proof}\n`;
}

it('lets in by a certificate of the authority and a proof of its key, once', async () => {
  const module = new CertificateLogin({ ca_file: join(dir, 'authority.crt') });
  const now = nowS();
  const good = await password('anne', proofText('anne', now), now);
  expect(await module.check({ username: 'anne', password: good })).toEqual({
    name: 'anne',
    groups: [],
  });
  expect(await module.check({ username: 'anne', password: good })).toBeUndefined();
});

it('CVE-2024-38825: refuses a certificate of another user, or without proof', async () => {
  const module = new CertificateLogin({ '^ca_file': join(dir, 'authority.crt') });
  const now = nowS();
  const old = String(Number(now) - 90);
  const cases: [username: string, password: string][] = [
    ['anne', await readFile(join(dir, 'anne.crt'), 'utf8')],
    ['anne', await password('anne', proofText('anne', now), now, 'bob')],
    ['anne', await password('bob', proofText('anne', now), now)],
    ['anne', await password('anne', proofText('bob', now), now)],
    ['anne', await password('anne', proofText('anne', old), old)],
    ['anne', await password('anne', proofText('anne', old), now)],
    ['stranger', await password('stranger', proofText('stranger', now), now)],
    ['anne', ''],
  ];
  for (const [username, password] of cases) {
    expect(await module.check({ username, password })).toBeUndefined();
  }
});

it('an authority that is none lets no user in; one that is missing is an error', async () => {
  const now = nowS();
  const given = await password('anne', proofText('anne', now), now);
  const missing = new CertificateLogin({ ca_file: join(dir, 'none.crt') });
  await expect(missing.check({ username: 'anne', password: given })).rejects.toThrow('ca_file');
  const leaf = new CertificateLogin({ ca_file: join(dir, 'bob.crt') });
  expect(await leaf.check({ username: 'anne', password: given })).toBeUndefined();
});

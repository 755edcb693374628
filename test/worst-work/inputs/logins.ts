import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateLogin, LoginModules, Pam, PasswordFile } from '@brine/eauth';
import type { WorstWork } from '../worst.ts';

const PASSWORDS: readonly (readonly [string, string])[] = [
  ['a megabyte', 'a'.repeat(1_000_000)],
  ['the longest', 'a'.repeat(65_536)],
  [
    'a certificate that is none',
    `-----BEGIN CERTIFICATE-----\n${'A'.repeat(60_000)}\n-----END CERTIFICATE----- 123456789 AAAA`,
  ],
  ['certificates', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----'.repeat(1_000)],
  [
    'ends of certificates',
    `-----BEGIN CERTIFICATE-----${'-----END CERTIFICATE-----\n'.repeat(2_500)}`,
  ],
  [
    'ends and digits',
    `-----BEGIN CERTIFICATE-----${'-----END CERTIFICATE----- 123456789 '.repeat(1_700)}`,
  ],
  [
    'ends and spaces',
    `-----BEGIN CERTIFICATE-----${`-----END CERTIFICATE-----${' '.repeat(30_000)}`.repeat(2)}x`,
  ],
];
/** Each hash that `htpasswd` writes; the rounds are the operator's. */
const HASHES: readonly (readonly [string, string])[] = [
  ['apr1', '$apr1$abcdefgh$RKtGWQeJ5dRgZQ4zTxvQd.'],
  ['sha512', '$6$rounds=1000$abcdefgh$x'],
  ['sha256', '$5$rounds=1000$abcdefgh$x'],
  ['des', 'abJnggxhB/yWI'],
  ['sha1', '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='],
  ['plain', 'secret'],
];

export const logins: WorstWork = {
  of: ['CertificateLogin', 'LoginModules', 'PasswordFile', 'Pam'].map((name) => `eauth.${name}`),
  inputs: () => {
    const file = join(mkdtempSync(join(tmpdir(), 'worst-')), 'htpasswd');
    writeFileSync(file, HASHES.map(([user, hash]) => `${user}:${hash}\n`).join(''));
    const users = new PasswordFile({ '^filename': file, '^filetype': 'htpasswd' });
    const certificates = new CertificateLogin({ '^ca_file': file });
    const pam = new Pam({ service: 'login', program: 'false' });
    const modules = new LoginModules({
      modules: { file: users, pki: certificates },
      onTrouble: () => undefined,
      refusalMs: 1,
    });
    const from = '192.0.2.1';
    return PASSWORDS.flatMap(([name, password]) => [
      [`certificate: ${name}`, () => certificates.check({ username: 'u', password })] as const,
      [`vouch: ${name}`, () => modules.vouch('file', 'sha512', password, from)] as const,
      [`vouch for a long name: ${name}`, () => modules.vouch('file', password, 'x', from)] as const,
      [
        `pam: ${name}`,
        () => pam.check({ username: 'u', password }, AbortSignal.timeout(1_000)),
      ] as const,
      ...HASHES.map(
        ([username]) =>
          [`${username}: ${name}`, () => users.check({ username, password })] as const,
      ),
    ]);
  },
};

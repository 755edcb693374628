import { verify, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  type Credentials,
  type KnownUser,
  LoginError,
  type LoginModule,
  type ModuleSettings,
  settingText,
} from './login-module.ts';

/** A proof counts for so long, in seconds, before and after the moment it names. */
const PROOF_AGE_S = 60;

/** Proofs that were used and have not expired; more than this in two minutes is an attack. */
const USED_MAX = 10_000;

/** The certificate, then a line `<unix seconds> <signature in base64>`. */
const PASSWORD =
  /^(-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----)\s+(\d{9,12}) ([A-Za-z\d+/=]+)\s*$/;

/**
 * Users by certificates of an authority (salt/auth/pki.py, in Salt up to 3007): the subject's
 * common name is the user. A certificate is no secret (CVE-2024-38825), so the password is the
 * certificate and a signature by its key over {@link proofText}; each is good once.
 */
export class CertificateLogin implements LoginModule {
  readonly #settings: ModuleSettings;
  readonly #used = new Map<string, number>();

  constructor(settings: ModuleSettings) {
    this.#settings = settings;
  }

  async check({ username, password }: Credentials): Promise<KnownUser | undefined> {
    const [, pem = '', seconds = '', signature = ''] = PASSWORD.exec(password) ?? [];
    if (pem === '') return undefined;
    const certificate = parse(pem);
    const authority = await this.#authority();
    const nowS = Date.now() / 1000;
    if (certificate === undefined || !isIssued(certificate, authority, nowS)) return undefined;
    if (commonName(certificate) !== username) return undefined;
    if (Math.abs(Number(seconds) - nowS) > PROOF_AGE_S) return undefined;
    const text = Buffer.from(proofText(username, seconds));
    if (!signed(text, certificate, Buffer.from(signature, 'base64'))) return undefined;
    return this.#isFresh(`${seconds} ${username}`, nowS)
      ? { name: username, groups: [] }
      : undefined;
  }

  async #authority(): Promise<X509Certificate> {
    const file =
      settingText(this.#settings, '^ca_file', '') || settingText(this.#settings, 'ca_file', '');
    try {
      return new X509Certificate(await readFile(file));
    } catch (cause) {
      throw new LoginError('external_auth:pki: ca_file is no certificate', { cause });
    }
  }

  /** One login per user and second: a signature has many forms, the text it signs has one. */
  #isFresh(proof: string, nowS: number): boolean {
    for (const [known, untilS] of this.#used) if (untilS < nowS) this.#used.delete(known);
    if (this.#used.has(proof) || this.#used.size >= USED_MAX) return false;
    this.#used.set(proof, nowS + 2 * PROOF_AGE_S);
    return true;
  }
}

/** What a user signs to log in at a moment. */
export function proofText(username: string, unixSeconds: string): string {
  return `salt-eauth-pki\n${username}\n${unixSeconds}\n`;
}

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    // Not a certificate: it identifies no user.
    return undefined;
  }
}

function isIssued(one: X509Certificate, authority: X509Certificate, nowS: number): boolean {
  const inTime = [one, authority].every(
    ({ validFrom, validTo }) =>
      Date.parse(validFrom) <= nowS * 1000 && nowS * 1000 <= Date.parse(validTo),
  );
  return inTime && authority.ca && one.checkIssued(authority) && one.verify(authority.publicKey);
}

/** The CN of the subject; undefined where there is not exactly one. */
function commonName({ subject }: X509Certificate): string | undefined {
  const names = subject.split('\n').filter((line) => line.startsWith('CN='));
  return names.length === 1 ? names[0]?.slice(3) : undefined;
}

function signed(text: Buffer, certificate: X509Certificate, signature: Buffer): boolean {
  const key = certificate.publicKey;
  const hash = key.asymmetricKeyType?.startsWith('ed') === true ? null : 'sha256';
  try {
    return verify(hash, text, key, signature);
  } catch {
    // A key that cannot sign.
    return false;
  }
}

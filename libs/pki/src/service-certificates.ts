import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateSubject, Certified } from '@brine/crypt';
import { CERTIFICATE_FILES, issueCertificate, makeAuthority } from '@brine/crypt';
import { removeIfThere, textIfThere, writeAtomic } from '@brine/files';
import { PkiError } from './errors.ts';

/** The names that get certificates. */
export interface CertificateNames {
  readonly clients: readonly string[];
  readonly server: string;
}

/** What is wrong with a certificate. */
export type CertificateProblem = 'missing' | 'expired' | 'wrong key' | 'not of this authority';

/** A certificate as its file has it. */
export interface CertificateStatus {
  readonly name: string;
  /** Unix milliseconds; 0 where it is missing. */
  readonly until: number;
  readonly issuer: string;
  /** Alternative names, as OpenSSL prints them. */
  readonly hosts: string;
  readonly problem?: CertificateProblem;
}

/**
 * The step of a change of the authority. `trusted`: all trust the new one and the old one still
 * signs. `signing`: the new one signs and all still trust the old one. `done`: only the new one.
 */
export type AuthorityChange = 'trusted' | 'signing' | 'done';

/** The authority's own directory. The certificate and its key are one file, so one rename. */
const AUTHORITY = {
  dir: 'authority',
  current: 'ca.pem',
  next: 'next.pem',
  old: 'old.crt',
} as const;

/** A certificate needs renewal this many days before its end. */
export const RENEW_DAYS = 30;

const PRIVATE_MODE = 0o600;
const PUBLIC_MODE = 0o644;
const DAY_MS = 86_400_000;
/** Of an authority. */
const AUTHORITY_DAYS = 3_650;
/** Clocks that are behind by less see a certificate as valid at once. */
const CLOCKS_APART_MS = 3_600_000;
/** The server is always reached from its own host too. */
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

const PEM = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g;

/**
 * The certificates by which services and the NATS server know each other. One directory has the
 * authority, and for each name a directory to copy to the host that needs it.
 */
export class ServiceCertificates {
  readonly #dir: string;
  readonly #names: CertificateNames;
  readonly #now: () => number;

  constructor(dir: string, names: CertificateNames, now: () => number = Date.now) {
    this.#dir = dir;
    this.#names = names;
    this.#now = now;
  }

  async hasAuthority(): Promise<boolean> {
    return (await this.#read(AUTHORITY.current)) !== undefined;
  }

  /**
   * Makes the authority and every certificate. `hosts` are those of the server.
   * Throws PkiError SALT_PKI_AUTHORITY where there is one already: it is trusted somewhere.
   */
  async init(hosts: readonly string[], days: number): Promise<void> {
    if (await this.hasAuthority()) {
      throw new PkiError('SALT_PKI_AUTHORITY', `there is an authority in ${this.#dir}: renew it`);
    }
    await mkdir(join(this.#dir, AUTHORITY.dir), { recursive: true, mode: 0o700 });
    await this.#write(AUTHORITY.current, await this.#newAuthority());
    await this.renew(days, hosts);
  }

  /**
   * Makes every certificate again, with another key, by the same authority. The server's is for the
   * same hosts unless others are given.
   * @throws PkiError SALT_PKI_AUTHORITY without an authority
   */
  async renew(days: number, hosts?: readonly string[]): Promise<void> {
    const authority = await this.#authority();
    if (endOf(authority.certificate) <= this.#now()) {
      throw new PkiError('SALT_PKI_AUTHORITY', 'the authority has expired: change it');
    }
    const { clients, server } = this.#names;
    const known = hosts === undefined ? await this.#hosts() : [...LOOPBACK, ...hosts];
    await this.#publishRoots();
    const from = this.#now() - CLOCKS_APART_MS;
    const until = Math.min(this.#now() + days * DAY_MS, endOf(authority.certificate));
    const subjects: CertificateSubject[] = [
      ...clients.map((name) => ({ name, use: 'client' as const })),
      { name: server, use: 'server', hosts: [...new Set(known)] },
    ];
    const renewOne = async (subject: CertificateSubject): Promise<void> => {
      const made = await issueCertificate(authority, subject, { from, until });
      const path = (file: string): string => join(this.#dir, subject.name, file);
      await writeAtomic(path(CERTIFICATE_FILES.key), made.key, { mode: PRIVATE_MODE });
      await writeAtomic(path(CERTIFICATE_FILES.certificate), made.certificate, {
        mode: PUBLIC_MODE,
      });
    };
    // All at once, because making a key takes long; all end before a failure is thrown.
    const ends = await Promise.allSettled(subjects.map(renewOne));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /**
   * Goes one step on the way to another authority. The changed files must reach every host and the
   * server before the next step.
   * @throws PkiError SALT_PKI_AUTHORITY if a certificate still needs what a step would remove
   */
  async changeAuthority(days: number): Promise<AuthorityChange> {
    const current = await this.#authority();
    const next = await this.#read(AUTHORITY.next);
    if (next !== undefined) {
      await this.#write(AUTHORITY.old, current.certificate);
      await this.#write(AUTHORITY.current, next);
      await this.#remove(AUTHORITY.next);
      await this.renew(days);
      return 'signing';
    }
    if ((await this.#read(AUTHORITY.old)) === undefined) {
      await this.#write(AUTHORITY.next, await this.#newAuthority());
      await this.#publishRoots();
      return 'trusted';
    }
    const needy = (await this.list()).filter(({ problem }) => problem !== undefined);
    if (needy.length > 0) {
      const names = needy.map(({ name, problem }) => `${name} (${problem})`).join(', ');
      throw new PkiError(
        'SALT_PKI_AUTHORITY',
        `renew first what needs the old authority: ${names}`,
      );
    }
    await this.#remove(AUTHORITY.old);
    await this.#publishRoots();
    return 'done';
  }

  /** How far a change is; undefined while there is none. */
  async change(): Promise<Exclude<AuthorityChange, 'done'> | undefined> {
    if ((await this.#read(AUTHORITY.next)) !== undefined) return 'trusted';
    return (await this.#read(AUTHORITY.old)) === undefined ? undefined : 'signing';
  }

  /** The authority, then each certificate. Throws PkiError where there is no authority. */
  async list(): Promise<readonly CertificateStatus[]> {
    const authority = new X509Certificate(await this.#root());
    const { clients, server } = this.#names;
    const own = { name: AUTHORITY.dir, ...this.#statusOf(authority, undefined) };
    const others = [...clients, server].map(async (name) => {
      const [pem, key] = await this.#pair(name);
      if (pem === undefined || key === undefined) {
        return { name, until: 0, issuer: '', hosts: '', problem: 'missing' as const };
      }
      const found = new X509Certificate(pem);
      const isOurs = found.checkIssued(authority) && found.verify(authority.publicKey);
      const isPair = found.checkPrivateKey(createPrivateKey(key));
      const fault = isPair ? (isOurs ? undefined : 'not of this authority') : 'wrong key';
      return { name, ...this.#statusOf(found, fault) };
    });
    return [own, ...(await Promise.all(others))];
  }

  #statusOf(
    found: X509Certificate,
    fault: CertificateProblem | undefined,
  ): Omit<CertificateStatus, 'name'> {
    const until = Date.parse(found.validTo);
    const problem = until <= this.#now() ? 'expired' : fault;
    const issuer = /CN=(.*)/.exec(found.issuer)?.[1] ?? '';
    const hosts = found.subjectAltName ?? '';
    return { until, issuer, hosts, ...(problem === undefined ? {} : { problem }) };
  }

  #pair(name: string): Promise<[string | undefined, string | undefined]> {
    return Promise.all([
      textIfThere(join(this.#dir, name, CERTIFICATE_FILES.certificate)),
      textIfThere(join(this.#dir, name, CERTIFICATE_FILES.key)),
    ]);
  }

  /** Writes the trusted authorities of all: one, or two during a change. */
  async #publishRoots(): Promise<void> {
    const { clients, server } = this.#names;
    const next = (await this.#read(AUTHORITY.next)) ?? '';
    const old = (await this.#read(AUTHORITY.old)) ?? '';
    const roots = [
      await this.#root(),
      ...blocksOf(next, 'CERTIFICATE'),
      ...blocksOf(old, 'CERTIFICATE'),
    ];
    // An interrupted step may have left one of them under two names.
    const text = [...new Set(roots.map((root) => `${root.trim()}\n`))].join('');
    for (const name of [...clients, server]) {
      await mkdir(join(this.#dir, name), { recursive: true, mode: 0o700 });
      await writeAtomic(join(this.#dir, name, CERTIFICATE_FILES.roots), text, {
        mode: PUBLIC_MODE,
      });
    }
  }

  async #hosts(): Promise<readonly string[]> {
    const [pem] = await this.#pair(this.#names.server);
    if (pem === undefined) return LOOPBACK;
    const names = new X509Certificate(pem).subjectAltName ?? '';
    return names.split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, ''));
  }

  async #newAuthority(): Promise<string> {
    const from = this.#now() - CLOCKS_APART_MS;
    const until = this.#now() + AUTHORITY_DAYS * DAY_MS;
    // Two authorities must not have one name: a client finds the signer by it.
    const name = `Brine services ${randomBytes(4).toString('hex')}`;
    const { certificate, key } = await makeAuthority(name, { from, until });
    return certificate + key;
  }

  /** The authority as it signs. */
  async #authority(): Promise<Certified> {
    const certificate = await this.#root();
    const [key] = blocksOf((await this.#read(AUTHORITY.current)) ?? '', 'PRIVATE KEY');
    if (key !== undefined) return { certificate, key };
    const path = join(this.#dir, AUTHORITY.dir, AUTHORITY.current);
    throw new PkiError('SALT_PKI_AUTHORITY', `the authority's private key is not in ${path}`);
  }

  /** The certificate of the authority; its private key may be on another host. */
  async #root(): Promise<string> {
    const [root] = blocksOf((await this.#read(AUTHORITY.current)) ?? '', 'CERTIFICATE');
    if (root !== undefined) return root;
    const text =
      `there is no authority in ${this.#dir}: ` +
      'run this where the authority is, or make one with `brine pki init`';
    throw new PkiError('SALT_PKI_AUTHORITY', text);
  }

  #read(name: string): Promise<string | undefined> {
    return textIfThere(join(this.#dir, AUTHORITY.dir, name));
  }

  #write(name: string, text: string): Promise<void> {
    return writeAtomic(join(this.#dir, AUTHORITY.dir, name), text, { mode: PRIVATE_MODE });
  }

  #remove(name: string): Promise<boolean> {
    return removeIfThere(join(this.#dir, AUTHORITY.dir, name));
  }
}

function endOf(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

function blocksOf(text: string, label: string): string[] {
  return [...text.matchAll(PEM)].filter(([, found]) => found === label).map(([block]) => block);
}

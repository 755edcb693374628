import { generateKeyPair, randomBytes, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import type { pki } from 'node-forge';

/** A certificate and its private key, both PEM. */
export interface Certified {
  readonly certificate: string;
  readonly key: string;
}

/**
 * The files in the directory of a service, by the names of a Kubernetes secret of type `tls`: the
 * authority that it trusts (two during a change), its certificate, its private key.
 */
export const CERTIFICATE_FILES = {
  roots: 'ca.crt',
  certificate: 'tls.crt',
  key: 'tls.key',
} as const;

/** Start and end, unix milliseconds; certificates have whole seconds. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/** The subject of a certificate. */
export interface CertificateSubject {
  /** Common name, and an alternative name, from which NATS finds its user. */
  readonly name: string;
  /** A client cannot pose as a server; servers are clients of each other (extended key usage). */
  readonly use: 'client' | 'server';
  /** Further DNS names and addresses of a server. */
  readonly hosts?: readonly string[];
}

/** An authority signs rarely and lives for years, so its key is longer. In bits. */
const AUTHORITY_BITS = 3072;
const SUBJECT_BITS = 2048;

/** Kinds of alternative names (RFC 5280, 4.2.1.6). */
const DNS_NAME = 2;
const ADDRESS = 7;

/** Makes an authority: it signs certificates of services, but no further authorities. */
export function makeAuthority(name: string, validity: Validity): Promise<Certified> {
  return certify({ name, bits: AUTHORITY_BITS, validity }, [
    { name: 'basicConstraints', critical: true, cA: true, pathLenConstraint: 0 },
    { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
    { name: 'subjectKeyIdentifier' },
  ]);
}

/**
 * Makes a key and lets an authority certify it. Throws RangeError if the certificate would outlive
 * its authority.
 */
export async function issueCertificate(
  authority: Certified,
  { name, use, hosts = [] }: CertificateSubject,
  validity: Validity,
): Promise<Certified> {
  if (validity.until > Date.parse(new X509Certificate(authority.certificate).validTo)) {
    throw new RangeError('a certificate cannot outlive its authority');
  }
  const altNames = [...new Set([name, ...hosts])].map((host) =>
    isAddress(host) ? { type: ADDRESS, ip: host } : { type: DNS_NAME, value: host },
  );
  return certify({ name, bits: SUBJECT_BITS, validity, authority }, [
    { name: 'basicConstraints', critical: true, cA: false },
    { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
    { name: 'extKeyUsage', clientAuth: true, serverAuth: use === 'server' },
    { name: 'subjectAltName', altNames },
    { name: 'subjectKeyIdentifier' },
  ]);
}

interface Request {
  readonly name: string;
  readonly bits: number;
  readonly validity: Validity;
  /** Without an authority the certificate signs itself. */
  readonly authority?: Certified;
}

async function certify(
  { name, bits, validity, authority }: Request,
  extensions: readonly object[],
): Promise<Certified> {
  // Loaded only by the command that makes certificates, since services carry this library too.
  const { default: forge } = await import('node-forge');
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const made = forge.pki.createCertificate();
  made.publicKey = forge.pki.publicKeyFromPem(publicKey);
  // Positive and at most 20 bytes (RFC 5280, 4.1.2.2).
  made.serialNumber = `01${randomBytes(15).toString('hex')}`;
  made.validity.notBefore = new Date(validity.from);
  made.validity.notAfter = new Date(validity.until);
  made.setSubject(subjectOf(name));
  const issuer = authority && forge.pki.certificateFromPem(authority.certificate);
  made.setIssuer(issuer?.subject.attributes ?? subjectOf(name));
  made.setExtensions([
    ...extensions,
    { name: 'authorityKeyIdentifier', keyIdentifier: identifierOf(issuer ?? made) },
  ]);
  const signer = forge.pki.privateKeyFromPem(authority?.key ?? privateKey);
  made.sign(signer, forge.md.sha256.create());
  const certificate = forge.pki.certificateToPem(made).replaceAll('\r\n', '\n');
  return { certificate, key: privateKey };
}

function subjectOf(name: string): pki.CertificateField[] {
  return [
    { name: 'organizationName', value: 'Brine' },
    { name: 'commonName', value: name },
  ];
}

function identifierOf(certificate: pki.Certificate): string {
  return certificate.generateSubjectKeyIdentifier().getBytes();
}

/** Ground has no `node:net`: only digits and dots, or a colon, make an address. */
function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(':');
}

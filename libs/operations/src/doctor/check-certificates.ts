import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVER_NAME, SERVICE_NAMES } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { CERTIFICATE_FILES } from '@brine/crypt';
import { RENEW_DAYS } from '@brine/pki';
import { type Finding, some } from '../findings/finding.ts';

const DAY_MS = 86_400_000;

/** Checks that certificates of this host are private, valid, and do not expire soon. */
export async function checkCertificates(options: MasterOptions): Promise<Finding[]> {
  const { certificates, url } = options.brine.nats;
  const asked = [...SERVICE_NAMES, SERVER_NAME].map((name) => examine(certificates, name));
  const there = (await Promise.all(asked)).filter((one) => one !== undefined);
  if (there.length === 0) {
    if (url === undefined || !url.includes('tls:')) return [];
    const text = `NATS is reached by TLS and ${certificates} is empty: see \`brine pki init\``;
    return [{ level: 'bad', check: 'certificates', text }];
  }
  const findings = FAULTS.flatMap(({ fault, level, text }): Finding[] => {
    const names = there.filter((one) => one.fault === fault).map(({ name }) => name);
    if (names.length === 0) return [];
    return [{ level, check: 'certificates', text: `${some(names)}: ${text}` }];
  });
  if (findings.length > 0) return findings;
  return [{ level: 'ok', check: 'certificates', text: `${there.length} certificates are good` }];
}

type Fault = 'open' | 'broken' | 'expired' | 'soon';

const FAULTS: readonly (Pick<Finding, 'level' | 'text'> & { readonly fault: Fault })[] = [
  {
    fault: 'open',
    level: 'bad',
    text: 'others can read the key: chmod 0600, then brine pki renew',
  },
  { fault: 'broken', level: 'bad', text: 'no certificate with its key: brine pki renew' },
  { fault: 'expired', level: 'bad', text: 'the certificate has expired: brine pki renew' },
  { fault: 'soon', level: 'warn', text: `it ends within ${RENEW_DAYS} days: brine pki renew` },
];

/** Undefined if the name has no directory: not every service is on every host. */
async function examine(
  dir: string,
  name: string,
): Promise<{ readonly name: string; readonly fault?: Fault } | undefined> {
  const path = (kind: keyof typeof CERTIFICATE_FILES): string =>
    join(dir, name, CERTIFICATE_FILES[kind]);
  if ((await stat(join(dir, name)).catch(() => undefined)) === undefined) return undefined;
  try {
    const { mode } = await stat(path('key'));
    if ((mode & 0o007) !== 0) return { name, fault: 'open' };
    const found = new X509Certificate(await readFile(path('certificate')));
    const isPair = found.checkPrivateKey(createPrivateKey(await readFile(path('key'))));
    if (!isPair) return { name, fault: 'broken' };
    const left = Date.parse(found.validTo) - Date.now();
    if (left <= 0) return { name, fault: 'expired' };
    return left < RENEW_DAYS * DAY_MS ? { name, fault: 'soon' } : { name };
  } catch {
    // Missing, not readable, or no certificate: a service could not use it either.
    return { name, fault: 'broken' };
  }
}

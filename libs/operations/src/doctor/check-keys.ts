import { createPublicKey } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { KEY_SHELVES, type KeyListing, KeyStore, shelfDir } from '@brine/pki';
import { type Finding, some } from '../findings/finding.ts';

/** NIST SP 800-131A: shorter RSA keys are no longer to be trusted. */
const BITS_MIN = 2048;
/** Number of keys to read: a sample, because a fleet has one kind of keys. */
const READ_MAX = 10_000;

/** Checks that the keys of master and minions are long enough, and that no key is pending. */
export async function checkKeys(options: MasterOptions): Promise<Finding[]> {
  const store = new KeyStore(options.pkiDir);
  let listing: KeyListing;
  try {
    listing = await store.list();
  } catch (error) {
    return [{ level: 'warn', check: 'keys', text: withoutKeys(options.pkiDir, error) }];
  }
  const weak: string[] = [];
  const unusable: string[] = [];
  const master = await readFile(join(options.pkiDir, `${options.masterKeyName}.pub`), 'utf8').catch(
    () => '',
  );
  const bits = bitsOf(master);
  if (bits !== undefined && bits < BITS_MIN) weak.push(`master (${bits} bits)`);
  for (const id of listing.accepted.slice(0, READ_MAX)) {
    const length = bitsOf((await store.readShelf('accepted', id)) ?? '');
    if (length === undefined) unusable.push(id);
    else if (length < BITS_MIN) weak.push(`${id} (${length} bits)`);
  }
  const findings: Finding[] = [
    weak.length === 0
      ? { level: 'ok', check: 'weak-keys', text: `no key is shorter than ${BITS_MIN} bits` }
      : { level: 'bad', check: 'weak-keys', text: `short keys: ${some(weak)}: make new ones` },
  ];
  if (unusable.length > 0) {
    const text = `accepted keys that are no RSA keys: ${some(unusable)}: these can not sign in`;
    findings.push({ level: 'warn', check: 'unusable-keys', text });
  }
  const odd = await oddFiles(options.pkiDir, listing);
  if (odd.length > 0) {
    const text = `no keys of minions, and left out: ${some(odd)}: move them elsewhere`;
    findings.push({ level: 'warn', check: 'odd-key-files', text });
  }
  if (listing.denied.length > 0) {
    const text = `${listing.denied.length} ids were offered another key: ${some(listing.denied)}`;
    findings.push({ level: 'warn', check: 'denied-keys', text });
  }
  return findings;
}

function withoutKeys(dir: string, error: unknown): string {
  const { cause = error } = error as Error;
  const { code = String(cause) } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `${dir} has no keys yet`;
  return `${dir} can not be read (${code}): run this as root`;
}

/** Entries of key directories that are no keys: directories, links, invalid names. */
async function oddFiles(pkiDir: string, listing: KeyListing): Promise<string[]> {
  const odd: string[] = [];
  for (const shelf of KEY_SHELVES) {
    const dir = shelfDir(pkiDir, shelf);
    const known = new Set(listing[shelf]);
    const found = (await readdir(dir)).filter((name) => !known.has(name));
    // Drafts and Salt's own notes begin with a dot.
    odd.push(...found.filter((name) => !name.startsWith('.')).map((name) => join(dir, name)));
  }
  return odd.map((path) => JSON.stringify(path));
}

function bitsOf(pem: string): number | undefined {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key.asymmetricKeyDetails?.modulusLength : undefined;
  } catch {
    // Not a key; the caller reports it.
    return undefined;
  }
}

import { randomBytes } from 'node:crypto';
import { chmod, rename, writeFile } from 'node:fs/promises';
import type { ServiceName } from '@brine/bus';
import { isRecord } from '@brine/bus';
import { SERVICE_NAMES } from '@brine/bus';
import { textIfThere } from '@brine/files';

/** The password of each service's user. */
export type Passwords = Readonly<Record<ServiceName, string>>;

/**
 * Reads the passwords from a file. Makes it (0600) if it is missing, and adds a password for each
 * service without one. So the passwords stay the same over restarts.
 */
export async function loadOrMakePasswords(path: string): Promise<Passwords> {
  const known = await readPasswords(path);
  const passwords: Record<string, string> = {};
  for (const service of SERVICE_NAMES) {
    passwords[service] = known[service] ?? randomBytes(24).toString('base64url');
  }
  const complete = SERVICE_NAMES.every((service) => known[service] !== undefined);
  if (!complete) {
    const beside = `${path}.${randomBytes(6).toString('hex')}`;
    await writeFile(beside, JSON.stringify(passwords, undefined, 2), { mode: 0o600 });
    await rename(beside, path);
  }
  await chmod(path, 0o600);
  return passwords as Passwords;
}

async function readPasswords(path: string): Promise<Readonly<Record<string, string | undefined>>> {
  const text = await textIfThere(path);
  if (text === undefined) return {};
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) return {};
  const texts: Record<string, string | undefined> = {};
  for (const [service, password] of Object.entries(value)) {
    if (typeof password === 'string') texts[service] = password;
  }
  return texts;
}

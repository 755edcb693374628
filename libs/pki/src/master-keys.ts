import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { normalisePem, PrivateKey } from '@brine/crypt';
import { textIfThere, writeAtomic, writeNew } from '@brine/files';
import { PkiError } from './errors.ts';
import { ensureKeyDirs } from './key-dirs.ts';

/** A private key with the PEM text of its public half, as Salt sends it (trimmed). */
export interface KeyPair {
  readonly privateKey: PrivateKey;
  readonly publicPem: string;
}

/** The master's keys. */
export interface MasterKeys extends KeyPair {
  /** PEM text of master.pem, the root of every secret that is sealed for NATS. */
  readonly privatePem: string;
  /** The pair that signs the master's public key, if `master_sign_pubkey` is on. */
  readonly sign?: KeyPair;
  /** Base64 text of a signature made elsewhere (`master_pubkey_signature`), if the file exists. */
  readonly precomputedSignature?: string;
}

/** Options of {@link loadOrCreateMasterKeys}; the names are those of Salt's master options. */
export interface MasterKeyOptions {
  /** `master_sign_pubkey`: also load (or create) the signing pair. */
  readonly signPubkey?: boolean;
  /** `master_sign_key_name`, default `master_sign`. */
  readonly signKeyName?: string;
  /** `master_use_pubkey_signature`: name of the file with a signature made elsewhere. */
  readonly signatureFile?: string;
  /** `id`: 3008 looks for a pair of this name, less `_master`, before it looks for `master`. */
  readonly id?: string;
}

/**
 * What the master's options say of its signing pair. With a signature that was made elsewhere, the
 * pair's private half need not be on this host.
 */
export function masterKeyOptions(options: {
  readonly id: string;
  readonly masterSignPubkey: boolean;
  readonly masterSignKeyName: string;
  readonly masterUsePubkeySignature: boolean;
  readonly masterPubkeySignature: string | undefined;
}): MasterKeyOptions {
  const { id } = options;
  if (!options.masterSignPubkey) return { id };
  if (!options.masterUsePubkeySignature) {
    return { id, signPubkey: true, signKeyName: options.masterSignKeyName };
  }
  return { id, signatureFile: options.masterPubkeySignature ?? `${id}_pubkey_signature` };
}

/** Salt: salt/crypt.py gen_keys writes private keys as 0400, public ones as 0644. */
const PRIVATE_MODE = 0o400;
const PUBLIC_MODE = 0o644;

/**
 * The master's key pair below `pkiDir`, made when there is none. Several services may start at
 * once: all get the pair of the first that finished. `keysize` is in bits (Salt's default 2048).
 * Throws {@link PkiError} when a key file exists but cannot be read or parsed, and if a
 * configured signature made elsewhere is missing.
 */
export async function loadOrCreateMasterKeys(
  pkiDir: string,
  keysize = 2048,
  options: MasterKeyOptions = {},
): Promise<MasterKeys> {
  await ensureKeyDirs(pkiDir);
  const pair = await loadOrCreatePair(pkiDir, 'master', keysize);
  if (options.id !== undefined) await nameAs3008(pkiDir, options.id, pair);
  const signName = options.signKeyName ?? 'master_sign';
  const sign = options.signPubkey ? await loadOrCreatePair(pkiDir, signName, keysize) : undefined;
  const signature = options.signatureFile
    ? await readSignature(join(pkiDir, options.signatureFile))
    : undefined;
  return {
    privateKey: pair.privateKey,
    privatePem: pair.privateKey.pem,
    publicPem: pair.publicPem,
    ...(sign && { sign }),
    ...(signature !== undefined && { precomputedSignature: signature }),
  };
}

/**
 * Gives the pair the names that stock tools of 3008 look for (salt/crypt.py MasterKeys). Without
 * them such a tool moves the files while services read them. A symbolic link is no key to 3008, so
 * these are copies. `master.pem` is the truth: a key of that name that differs is replaced.
 */
async function nameAs3008(pkiDir: string, id: string, pair: KeyPair): Promise<void> {
  const name = id.replace(/_master$/, '');
  const path = join(pkiDir, `${name}.pem`);
  const present = await readPrivate(path);
  if (present === undefined || publicOf(present) !== pair.publicPem) {
    await writeAtomic(path, `${pair.privateKey.pem.trim()}\n`, { mode: PRIVATE_MODE });
  }
  await writePublic(join(pkiDir, `${name}.pub`), pair.publicPem);
}

/** The public half, whatever form the private one has; undefined for a text that is no key. */
function publicOf(text: string): string | undefined {
  try {
    return normalisePem(PrivateKey.parse(text).publicKey.pem);
  } catch {
    return undefined;
  }
}

/**
 * `<dir>/<name>.pem` and `<dir>/<name>.pub`, made when there is none. The private key is the
 * truth: a missing or foreign public file is written again from it.
 */
export async function loadOrCreatePair(
  dir: string,
  name: string,
  keysize: number,
): Promise<KeyPair> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const privatePath = join(dir, `${name}.pem`);
  let text = await readPrivate(privatePath);
  if (text === undefined) {
    const made = await PrivateKey.generate(keysize);
    const won = await writeNew(privatePath, `${made.pem.trim()}\n`, { mode: PRIVATE_MODE });
    text = won ? made.pem : await readPrivate(privatePath);
  }
  const privateKey = parsePrivate(privatePath, text);
  const publicPem = normalisePem(privateKey.publicKey.pem);
  await writePublic(join(dir, `${name}.pub`), publicPem);
  return { privateKey, publicPem };
}

async function readSignature(path: string): Promise<string> {
  const text = await textIfThere(path);
  if (text !== undefined) return `${text.trim()}\n`;
  throw new PkiError(
    'SALT_PKI_UNREADABLE',
    `${path}: no signature of the master's public key; salt-key --gen-signature makes one`,
  );
}

async function readPrivate(path: string): Promise<string | undefined> {
  try {
    return await textIfThere(path);
  } catch (error) {
    throw new PkiError('SALT_PKI_UNREADABLE', `${path}: private key is not readable`, {
      cause: error,
    });
  }
}

function parsePrivate(path: string, text: string | undefined): PrivateKey {
  if (text === undefined) {
    throw new PkiError('SALT_PKI_UNREADABLE', `${path}: private key went away while starting`);
  }
  try {
    return PrivateKey.parse(text);
  } catch (error) {
    throw new PkiError('SALT_PKI_BAD_KEY', `${path}: not a usable RSA private key (PEM)`, {
      cause: error,
    });
  }
}

async function writePublic(path: string, pem: string): Promise<void> {
  const present = await textIfThere(path);
  if (present !== undefined && normalisePem(present) === pem) return;
  await writeAtomic(path, `${pem}\n`, { mode: PUBLIC_MODE });
  await chmod(path, PUBLIC_MODE);
}

import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { normalisePem, PrivateKey } from '@brine/crypt';
import { textIfThere, writeAtomic, writeNew } from '@brine/files';
import { PkiError } from './errors.ts';
import { journalPath } from './journal.ts';
import { ensureKeyDirs } from './key-dirs.ts';

/** A private key with the PEM text of its public half, as Salt sends it (trimmed). */
export interface KeyPair {
  readonly privateKey: PrivateKey;
  readonly publicPem: string;
}

/** The master's keys. */
export interface MasterKeys extends KeyPair {
  /** PEM text of the private key, opened: the root of every secret that is sealed for NATS. */
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
  /** Name of the master's pair, default `master`; `cluster` in a cluster of Salt's masters. */
  readonly name?: string;
  /** `key_pass`, in a cluster `cluster_key_pass`. */
  readonly keyPass?: string | undefined;
  /** `signing_key_pass` */
  readonly signKeyPass?: string | undefined;
  /** Where the signing pair stands, and the signature; default `pkiDir`. */
  readonly signDir?: string;
}

/** The options of a master that choose its keys. */
export interface MasterKeySettings {
  readonly id: string;
  readonly masterSignPubkey: boolean;
  readonly masterSignKeyName: string;
  readonly masterUsePubkeySignature: boolean;
  readonly masterPubkeySignature: string | undefined;
  readonly masterKeyName: string;
  readonly ownPkiDir: string;
  readonly keyPass: string | undefined;
  readonly clusterKeyPass: string | undefined;
  readonly signingKeyPass: string | undefined;
}

/**
 * The signing pair by the master's options. If the signature was made elsewhere, the pair's private
 * half need not be on this host.
 */
export function masterKeyOptions(options: MasterKeySettings): MasterKeyOptions {
  const { id, masterKeyName, signingKeyPass } = options;
  // The pair of the id is the master's own. In a cluster that is another than the cluster's.
  const own =
    masterKeyName === 'cluster'
      ? { name: masterKeyName, keyPass: options.clusterKeyPass, signDir: options.ownPkiDir }
      : { id, keyPass: options.keyPass };
  if (!options.masterSignPubkey) return own;
  if (!options.masterUsePubkeySignature) {
    const signKeyName = options.masterSignKeyName;
    return { ...own, signPubkey: true, signKeyName, signKeyPass: signingKeyPass };
  }
  return { ...own, signatureFile: options.masterPubkeySignature ?? `${id}_pubkey_signature` };
}

/** Salt: salt/crypt.py gen_keys writes private keys as 0400, public ones as 0644. */
const PRIVATE_MODE = 0o400;
const PUBLIC_MODE = 0o644;

/**
 * The master's key pair below `pkiDir`, made when there is none. Several services may start at
 * once: all get the pair of the first that finished. `keysize` is in bits (Salt's default 2048).
 * Throws {@link PkiError} when a key file exists but cannot be read or parsed, if the 3008 name
 * has the key of another master, and if a configured signature made elsewhere is missing.
 */
export async function loadOrCreateMasterKeys(
  pkiDir: string,
  keysize = 2048,
  options: MasterKeyOptions = {},
): Promise<MasterKeys> {
  await ensureKeyDirs(pkiDir);
  const { id, name = 'master', keyPass, signKeyPass, signDir = pkiDir } = options;
  if (id !== undefined) await takeNameOf3008(pkiDir, id, keyPass);
  const pair = await loadOrCreatePair(pkiDir, name, keysize, keyPass);
  if (id !== undefined) await nameAs3008(pkiDir, id, pair, keyPass);
  const signName = options.signKeyName ?? 'master_sign';
  const sign = options.signPubkey
    ? await loadOrCreatePair(signDir, signName, keysize, signKeyPass)
    : undefined;
  const signature = options.signatureFile
    ? await readSignature(join(signDir, options.signatureFile))
    : undefined;
  return {
    privateKey: pair.privateKey,
    privatePem: pair.privateKey.pem,
    publicPem: pair.publicPem,
    ...(sign && { sign }),
    ...(signature !== undefined && { precomputedSignature: signature }),
  };
}

/** 3008 names its pair by the id (salt/crypt.py MasterKeys), and may have no `master.pem`. */
function nameOf3008(id: string): string {
  return id.replace(/_master$/, '');
}

/** Makes the pair of a 3008 master `master.pem` where that is missing: minions know no other. */
async function takeNameOf3008(
  pkiDir: string,
  id: string,
  passphrase: string | undefined,
): Promise<void> {
  const target = join(pkiDir, 'master.pem');
  if ((await readPrivate(target)) !== undefined) return;
  const path = join(pkiDir, `${nameOf3008(id)}.pem`);
  const text = await readPrivate(path);
  if (text === undefined) return;
  parsePrivate(path, text, passphrase);
  await writeNew(target, text, { mode: PRIVATE_MODE });
}

/**
 * Gives the pair the names that stock tools of 3008 look for. Without them such a tool moves the
 * files while services read them. A symbolic link is no key to 3008, so these are copies.
 * `master.pem` is the truth: an earlier copy that differs is replaced.
 */
async function nameAs3008(
  pkiDir: string,
  id: string,
  pair: KeyPair,
  passphrase: string | undefined,
): Promise<void> {
  const name = nameOf3008(id);
  const path = join(pkiDir, `${name}.pem`);
  const text = textOf(pair.privateKey, passphrase);
  const present = await readPrivate(path);
  if (present === undefined) {
    await writeNew(path, text, { mode: PRIVATE_MODE });
  } else if (publicOf(present, passphrase) !== pair.publicPem) {
    // Brine leaves its journal where it has served; there the file is a copy of an older pair.
    // Elsewhere it may be the only copy of the key that minions of a 3008 master know.
    if (!existsSync(journalPath(pkiDir))) throw anotherPair(pkiDir, name);
    await writeAtomic(path, text, { mode: PRIVATE_MODE });
  }
  await writePublic(join(pkiDir, `${name}.pub`), pair.publicPem);
}

function anotherPair(pkiDir: string, name: string): PkiError {
  return new PkiError(
    'SALT_PKI_BAD_KEY',
    `${join(pkiDir, `${name}.pem`)} is another key than master.pem beside it: move away the pair ` +
      `that minions do not know, ${name}.pem and ${name}.pub, or master.pem and master.pub`,
  );
}

/** The public half, whatever form the private one has; undefined for a text that is no key. */
function publicOf(text: string, passphrase: string | undefined): string | undefined {
  try {
    return normalisePem(PrivateKey.parse(text, passphrase).publicKey.pem);
  } catch {
    return undefined;
  }
}

/**
 * `<dir>/<name>.pem` and `<dir>/<name>.pub`, made when there is none. The private key is the
 * truth: a missing or foreign public file is written again from it. A new pair is encrypted where
 * there is a passphrase; one that is there may be encrypted or not.
 * Throws {@link PkiError} as {@link loadOrCreateMasterKeys} does.
 */
export async function loadOrCreatePair(
  dir: string,
  name: string,
  keysize: number,
  passphrase?: string,
): Promise<KeyPair> {
  // An empty passphrase is none, as in Salt.
  const secret = passphrase === '' ? undefined : passphrase;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const privatePath = join(dir, `${name}.pem`);
  let text = await readPrivate(privatePath);
  if (text === undefined) {
    const made = await PrivateKey.generate(keysize);
    const won = await writeNew(privatePath, textOf(made, secret), { mode: PRIVATE_MODE });
    text = won ? made.pem : await readPrivate(privatePath);
  }
  const privateKey = parsePrivate(privatePath, text, secret);
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

function textOf(key: PrivateKey, passphrase: string | undefined): string {
  const pem = passphrase ? key.encryptedPem(passphrase) : key.pem;
  return `${pem.trim()}\n`;
}

function parsePrivate(
  path: string,
  text: string | undefined,
  passphrase: string | undefined,
): PrivateKey {
  if (text === undefined) {
    throw new PkiError('SALT_PKI_UNREADABLE', `${path}: private key went away while starting`);
  }
  try {
    return PrivateKey.parse(text, passphrase);
  } catch (error) {
    throw new PkiError('SALT_PKI_BAD_KEY', `${path}: ${whyNot(text, passphrase)}`, {
      cause: error,
    });
  }
}

function whyNot(text: string, passphrase: string | undefined): string {
  const isEncrypted = /ENCRYPTED/.test(text);
  if (!isEncrypted) return 'not a usable RSA private key (PEM)';
  if (passphrase === undefined) return 'it is encrypted, and no passphrase is set (key_pass)';
  return 'it is encrypted, and the passphrase (key_pass) does not open it';
}

async function writePublic(path: string, pem: string): Promise<void> {
  const present = await textIfThere(path);
  if (present !== undefined && normalisePem(present) === pem) return;
  await writeAtomic(path, `${pem}\n`, { mode: PUBLIC_MODE });
  await chmod(path, PUBLIC_MODE);
}

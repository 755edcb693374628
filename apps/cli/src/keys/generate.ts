import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { fingerprint, PrivateKey } from '@brine/crypt';
import { loadOrCreatePair } from '@brine/pki';
import { mapOf, type SaltValue } from '@brine/wire';
import { EXIT } from '../exit-codes.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from '../options/command-form.ts';
import type { Printer } from '../printer.ts';
import { readTextIfThere } from './key-ring.ts';

/** `--gen-keys`: makes a pair where there is none and shows its fingerprint, as 3006 does. */
export async function generateKeys(
  options: ParsedOptions,
  _config: MasterOptions,
  printer: Printer,
): Promise<number> {
  const dir = textValue(options, 'gen_keys_dir') ?? '.';
  const name = textValue(options, 'gen_keys') ?? 'minion';
  await mkdir(dir, { recursive: true });
  const pair = await loadOrCreatePair(dir, name, numberValue(options, 'keysize') ?? 2048);
  show(printer, fingerprint(`${pair.publicPem.trim()}\n`, '3006'));
  return EXIT.ok;
}

/** `--gen-signature`: signs the master's public key (Salt: salt/key.py gen_keys_signature). */
export async function signMasterKey(
  options: ParsedOptions,
  config: MasterOptions,
  printer: Printer,
): Promise<number> {
  show(printer, await sign(options, config));
  return EXIT.ok;
}

async function sign(options: ParsedOptions, config: MasterOptions): Promise<SaltValue> {
  const publicPath = textValue(options, 'pub');
  const pub = await readTextIfThere(
    publicPath ?? join(config.pkiDir, `${config.masterKeyName}.pub`),
  );
  if (publicPath !== undefined && pub === undefined) {
    return `Public-key ${publicPath} does not exist`;
  }
  const privatePath = textValue(options, 'priv');
  const signName = config.masterSignKeyName;
  let pem = await readTextIfThere(privatePath ?? join(config.ownPkiDir, `${signName}.pem`));
  if (pem === undefined) {
    if (privatePath !== undefined) return `Private-key ${privatePath} does not exist`;
    if (!isOn(options, 'auto_create')) return 'No usable private-key found';
    const { ownPkiDir, keysize, signingKeyPass } = config;
    pem = (await loadOrCreatePair(ownPkiDir, signName, keysize, signingKeyPass)).privateKey.pem;
  }
  if (pub === undefined) return 'No usable public-key found';
  const signature = PrivateKey.parse(pem, config.signingKeyPass).sign(
    Buffer.from(pub),
    'PKCS1v15-SHA1',
  );
  const dir = textValue(options, 'signature_path') ?? config.ownPkiDir;
  const path = join(dir, 'master_pubkey_signature');
  await writeFile(path, `${signature.toString('base64')}\n`);
  return true;
}

function show(printer: Printer, value: SaltValue): void {
  printer.show(mapOf({ return: value }), 'key');
}

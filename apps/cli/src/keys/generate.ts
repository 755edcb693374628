import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { fingerprint, PrivateKey } from '@brine/crypt';
import { asOwnerOf, textIfThere, writeAtomic } from '@brine/files';
import { loadOrCreatePair } from '@brine/pki';
import { mapOf, type SaltValue } from '@brine/wire';
import { EXIT } from '../exit-codes.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from '../options/command-form.ts';
import type { OptionParser } from '../options/option-parser.ts';
import { osErrorText, type Printer } from '../printer.ts';

/** Readable for all: every minion gets the signature. */
const SIGNATURE_MODE = 0o644;

/**
 * `--gen-keys`: makes a pair if it is missing and shows its fingerprint, as 3006 does. The name may
 * contain directories below `--gen-keys-dir`, as in 3008.
 * @throws Exit 64 if that directory can not be made
 */
export async function generateKeys(
  options: ParsedOptions,
  parser: OptionParser,
  printer: Printer,
): Promise<number> {
  const dir = textValue(options, 'gen_keys_dir') ?? '.';
  const file = `${textValue(options, 'gen_keys') ?? 'minion'}.pem`;
  const path = resolve(dir, file);
  const pair = await asOwnerOf(dir, async () => {
    try {
      await mkdir(dir, { recursive: true });
    } catch (error) {
      throw parser.error(osErrorText(error, dir));
    }
    if (!path.startsWith(join(resolve(dir), sep))) return undefined;
    await mkdir(dirname(path), { recursive: true });
    const keysize = numberValue(options, 'keysize') ?? 2048;
    return loadOrCreatePair(dirname(path), basename(path, '.pem'), keysize);
  });
  if (pair === undefined) {
    printer.show(`key ${file} is not a valid key path.`, 'nested');
    return EXIT.ok;
  }
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
  const pub = await textOf(publicPath ?? join(config.pkiDir, `${config.masterKeyName}.pub`));
  if (publicPath !== undefined && pub === undefined) {
    return `Public-key ${publicPath} does not exist`;
  }
  const privatePath = textValue(options, 'priv');
  const signName = config.masterSignKeyName;
  let pem = await textOf(privatePath ?? join(config.ownPkiDir, `${signName}.pem`));
  if (pem === undefined) {
    if (privatePath !== undefined) return `Private-key ${privatePath} does not exist`;
    if (!isOn(options, 'auto_create')) return 'No usable private-key found';
    const { ownPkiDir, keysize, signingKeyPass } = config;
    const make = () => loadOrCreatePair(ownPkiDir, signName, keysize, signingKeyPass);
    pem = (await asOwnerOf(ownPkiDir, make)).privateKey.pem;
  }
  if (pub === undefined) return 'No usable public-key found';
  const signature = PrivateKey.parse(pem, config.signingKeyPass).sign(
    Buffer.from(pub),
    'PKCS1v15-SHA1',
  );
  const dir = textValue(options, 'signature_path') ?? config.ownPkiDir;
  const path = join(dir, 'master_pubkey_signature');
  await asOwnerOf(dir, () =>
    writeAtomic(path, `${signature.toString('base64')}\n`, { mode: SIGNATURE_MODE }),
  );
  return true;
}

/** The text of a file, read as the owner of its directory; undefined if it is missing. */
function textOf(path: string): Promise<string | undefined> {
  return asOwnerOf(dirname(path), () => textIfThere(path));
}

function show(printer: Printer, value: SaltValue): void {
  printer.show(mapOf({ return: value }), 'key');
}

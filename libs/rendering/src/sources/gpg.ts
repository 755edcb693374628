import { spawnSync } from 'node:child_process';
import { childEnvironment } from '@brine/environment';
import type { SaltValue } from '@brine/wire';

const MESSAGE = /-----BEGIN PGP MESSAGE-----[^]*?-----END PGP MESSAGE-----/g;
const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** gpg is missing, or could not decrypt a message that must be decrypted. */
export class GpgError extends Error {
  override readonly name = 'GpgError';
  readonly code = 'BRINE_PILLAR_GPG';
}

/** How messages are decrypted. */
export interface GpgSettings {
  /** The home of gpg, with the keys. */
  readonly keyDir: string;
  /** `gpg_decrypt_must_succeed`: a message that fails is an error, or else stays as it is. */
  readonly mustSucceed: boolean;
}

/**
 * Decrypts the PGP messages in the texts and bytes of a value with the real gpg (Salt:
 * salt/renderers/gpg.py). Messages that may stay closed stay as they are. A text with a message
 * loses its final line ends. The result is a text if it is UTF-8, otherwise bytes.
 * @throws GpgError
 */
export function decryptAll(
  value: SaltValue,
  settings: GpgSettings,
  mayOpen: (message: string) => boolean,
): SaltValue {
  if (typeof value === 'string') {
    if (value.search(MESSAGE) === -1) return value;
    return decryptBytes(Buffer.from(value), settings, mayOpen);
  }
  if (value instanceof Uint8Array) return decryptBytes(Buffer.from(value), settings, mayOpen);
  if (Array.isArray(value)) return value.map((item) => decryptAll(item, settings, mayOpen));
  if (!(value instanceof Map)) return value;
  return new Map([...value].map(([key, item]) => [key, decryptAll(item, settings, mayOpen)]));
}

function decryptBytes(
  bytes: Buffer,
  settings: GpgSettings,
  mayOpen: (message: string) => boolean,
): SaltValue {
  // Latin-1 keeps each byte as a letter, since gpg's output may have any encoding.
  const closed = bytes.toString('latin1');
  const open = closed.replaceAll(MESSAGE, (found) => {
    const message = Buffer.from(found, 'latin1').toString('utf8');
    return mayOpen(message) ? decryptMessage(message, settings).toString('latin1') : found;
  });
  const hasMessage = closed.search(MESSAGE) !== -1;
  return textOrBytes(Buffer.from(hasMessage ? open.replace(/\n+$/, '') : open, 'latin1'));
}

function textOrBytes(bytes: Buffer): SaltValue {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return new Uint8Array(bytes);
  }
}

function decryptMessage(message: string, { keyDir, mustSucceed }: GpgSettings): Buffer {
  const args = ['--homedir', keyDir, '--status-fd', '2', '--no-tty', '-d'];
  // Messages are often written as one line of YAML.
  const input = Buffer.from(message.replaceAll('\\n', '\n'));
  const run = spawnSync('gpg', args, {
    input,
    env: childEnvironment(process.env),
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (run.error !== undefined) throw new GpgError('GPG unavailable', { cause: run.error });
  if (run.stdout.length > 0) return run.stdout;
  if (!mustSucceed) return input;
  throw new GpgError(`Could not decrypt cipher, received: ${run.stderr.toString('utf8').trim()}`);
}

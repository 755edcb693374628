import { spawnSync } from 'node:child_process';
import { childEnvironment } from '@brine/environment';
import type { SaltValue } from '@brine/wire';

const MESSAGE = /-----BEGIN PGP MESSAGE-----[^]*?-----END PGP MESSAGE-----/g;
const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** There is no gpg, or it could not open a message that must be opened. */
export class GpgError extends Error {
  override readonly name = 'GpgError';
  readonly code = 'BRINE_PILLAR_GPG';
}

/** How messages are opened. */
export interface GpgSettings {
  /** Its home: the keys. */
  readonly keyDir: string;
  /** `gpg_decrypt_must_succeed`: what cannot be opened is an error, or else stays as it is. */
  readonly mustSucceed: boolean;
}

/**
 * Decrypts the PGP messages in the texts and bytes of a value with the real gpg (Salt:
 * salt/renderers/gpg.py), but for those that must not be opened: these stay as they are. What has a
 * message loses the line ends at its end. What is UTF-8 then is a text, anything else is bytes.
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
  // A letter of Latin-1 for each byte: what gpg makes may be none of any encoding.
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

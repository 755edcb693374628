import { spawnSync } from 'node:child_process';
import type { SaltValue } from '@brine/wire';

const MESSAGE = /-----BEGIN PGP MESSAGE-----[^]*?-----END PGP MESSAGE-----/g;
const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** There is no gpg, or it could not open a message that it must open. */
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
 * Decrypts every PGP message in the texts of a value with the real gpg (Salt:
 * salt/renderers/gpg.py). A text with a message loses the line ends at its end.
 * @throws GpgError
 */
export function decryptAll(value: SaltValue, settings: GpgSettings): SaltValue {
  if (typeof value === 'string') return decryptText(value, settings);
  if (Array.isArray(value)) return value.map((item) => decryptAll(item, settings));
  if (!(value instanceof Map)) return value;
  return new Map([...value].map(([key, item]) => [key, decryptAll(item, settings)]));
}

function decryptText(text: string, settings: GpgSettings): string {
  if (text.search(MESSAGE) === -1) return text;
  const open = text.replaceAll(MESSAGE, (message) => decryptMessage(message, settings));
  return open.replace(/\n+$/, '');
}

function decryptMessage(message: string, { keyDir, mustSucceed }: GpgSettings): string {
  const args = ['--homedir', keyDir, '--status-fd', '2', '--no-tty', '-d'];
  const run = spawnSync('gpg', args, {
    // Messages are often written as one line of YAML.
    input: message.replaceAll('\\n', '\n'),
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (run.error !== undefined) throw new GpgError('GPG unavailable', { cause: run.error });
  if (run.stdout.length > 0) return run.stdout.toString('utf8');
  if (!mustSucceed) return message;
  throw new GpgError(`Could not decrypt cipher, received: ${run.stderr.toString('utf8').trim()}`);
}

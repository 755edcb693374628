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
 * Decrypts the PGP messages in the texts of a value with the real gpg (Salt:
 * salt/renderers/gpg.py), but for those that must not be opened: these stay as they are. A text
 * with a message loses the line ends at its end.
 * @throws GpgError
 */
export function decryptAll(
  value: SaltValue,
  settings: GpgSettings,
  mayOpen: (message: string) => boolean,
): SaltValue {
  if (typeof value === 'string') return decryptText(value, settings, mayOpen);
  if (Array.isArray(value)) return value.map((item) => decryptAll(item, settings, mayOpen));
  if (!(value instanceof Map)) return value;
  return new Map([...value].map(([key, item]) => [key, decryptAll(item, settings, mayOpen)]));
}

function decryptText(
  text: string,
  settings: GpgSettings,
  mayOpen: (message: string) => boolean,
): string {
  if (text.search(MESSAGE) === -1) return text;
  const open = text.replaceAll(MESSAGE, (message) =>
    mayOpen(message) ? decryptMessage(message, settings) : message,
  );
  return open.replace(/\n+$/, '');
}

function decryptMessage(message: string, { keyDir, mustSucceed }: GpgSettings): string {
  const args = ['--homedir', keyDir, '--status-fd', '2', '--no-tty', '-d'];
  const run = spawnSync('gpg', args, {
    // Messages are often written as one line of YAML.
    input: message.replaceAll('\\n', '\n'),
    env: childEnvironment(process.env),
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (run.error !== undefined) throw new GpgError('GPG unavailable', { cause: run.error });
  if (run.stdout.length > 0) return run.stdout.toString('utf8');
  if (!mustSucceed) return message;
  throw new GpgError(`Could not decrypt cipher, received: ${run.stderr.toString('utf8').trim()}`);
}

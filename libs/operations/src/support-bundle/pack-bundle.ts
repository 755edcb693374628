import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { errorText } from '@brine/tasks';
import { packTar } from 'modern-tar';
import { type SecretScanner, withoutSecrets } from '../secrets/secret-scanner.ts';
import type { BundlePart } from './parts.ts';

/** Longer parts are truncated. */
const PART_MAX_CHARS = 8 * 1024 * 1024;
/** Timeout of a part, ms: a dead disk or server must not block all others. */
const PART_MS = 60_000;

/** The result of packing a part. */
export interface PackedPart {
  readonly name: string;
  readonly text: string;
  /** One line for people if it is incomplete: the missing data, and why. */
  readonly note?: string;
}

/** Makes a part, without secrets. Never rejects. */
export async function cleanPart(part: BundlePart, scanner: SecretScanner): Promise<PackedPart> {
  const { name } = part;
  const made = await inTime(part.make()).catch((error: unknown) => {
    return { note: `not collected: ${errorText(error)}` };
  });
  const whole = typeof made === 'string' ? made : `${made.note}\n`;
  const text = whole.slice(0, PART_MAX_CHARS);
  const clean = part.isLines ? withoutSecrets(text, scanner) : { text, left: NONE };
  const [hit] = scanner.find(clean.text);
  if (hit !== undefined) {
    const note = `removed: line ${hit.line} contained a secret (${hit.from})`;
    return { name, text: `${note}\n`, note };
  }
  const notes = [...clean.left].map(([from, count]) => `${count} lines left out (${from})`);
  if (typeof made !== 'string') notes.push(made.note);
  if (whole.length > text.length) notes.push(`cut after ${PART_MAX_CHARS} characters`);
  return { name, text: clean.text, ...(notes.length === 0 ? {} : { note: notes.join('; ') }) };
}

const NONE: ReadonlyMap<string, number> = new Map();

async function inTime(making: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not ready within ${PART_MS / 1000} s`)), PART_MS);
  });
  try {
    return await Promise.race([making, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Packs parts as a gzipped tar, everything below one directory.
 * @throws Error if the packed bytes contain a secret after all; then nothing may be written
 */
export async function packBundle(
  dir: string,
  parts: readonly PackedPart[],
  scanner: SecretScanner,
): Promise<Buffer> {
  const entries = parts.map(({ name, text }) => {
    const body = Buffer.from(text);
    return { header: { name: `${dir}/${name}`, size: body.length, mode: 0o600 }, body };
  });
  const tar = Buffer.from(await packTar(entries));
  // Search everything that leaves the host, also names and headers.
  const [hit] = scanner.find(tar.toString('utf8'));
  if (hit !== undefined) throw new Error(`the packed bundle contains a secret (${hit.from})`);
  return promisify(gzip)(tar);
}

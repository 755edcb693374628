import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { errorText } from '@brine/tasks';
import { packTar } from 'modern-tar';
import { type SecretScanner, withoutSecrets } from '../secrets/secret-scanner.ts';
import type { BundlePart } from './parts.ts';

/** Longer parts lose their end. */
const PART_MAX_CHARS = 8 * 1024 * 1024;
/** A part that hangs on a dead disk or server must not hold up all others, ms. */
const PART_MS = 60_000;

/** What became of a part. */
export interface PackedPart {
  readonly name: string;
  readonly text: string;
  /** One line for people where it is not whole: what is missing, and why. */
  readonly note?: string;
}

/** Makes a part, and takes out what must not leave the host. Never rejects. */
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
    const note = `removed: line ${hit.line} held a secret (${hit.from})`;
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
 * @throws Error where the packed bytes hold a secret after all; nothing may be written then.
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
  // Names and heads too: what leaves the host is what was looked at.
  const [hit] = scanner.find(tar.toString('utf8'));
  if (hit !== undefined) throw new Error(`the packed bundle holds a secret (${hit.from})`);
  return promisify(gzip)(tar);
}

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CORPUS = new URL('../../test/fixtures/fuzz/', import.meta.url).pathname;

/** The inputs at which a target once failed; empty if there are none. */
export function corpusOf(target: string): Buffer[] {
  const dir = join(CORPUS, target);
  return existsSync(dir) ? readdirSync(dir).map((file) => readFileSync(join(dir, file))) : [];
}

/** Stores an input at which a target failed, and returns the path. */
export function keep(target: string, bytes: Buffer): string {
  const dir = join(CORPUS, target);
  mkdirSync(dir, { recursive: true });
  const file = join(dir, createHash('sha256').update(bytes).digest('hex').slice(0, 16));
  writeFileSync(file, bytes);
  return file;
}

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CORPUS = new URL('../../test/fixtures/fuzz/', import.meta.url).pathname;

/** The inputs that a target once failed at; none where nothing was found wrong with it yet. */
export function corpusOf(target: string): Buffer[] {
  const dir = join(CORPUS, target);
  return existsSync(dir) ? readdirSync(dir).map((file) => readFileSync(join(dir, file))) : [];
}

/** Keeps an input that a target failed at, and says where. */
export function keep(target: string, bytes: Buffer): string {
  const dir = join(CORPUS, target);
  mkdirSync(dir, { recursive: true });
  const file = join(dir, createHash('sha256').update(bytes).digest('hex').slice(0, 16));
  writeFileSync(file, bytes);
  return file;
}

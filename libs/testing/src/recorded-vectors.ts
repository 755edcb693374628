import { readFileSync } from 'node:fs';

/** A recorded file of real Salt, parsed; `name` such as `auth.json`. */
export function vectorFile<T>(name: string): T {
  const url = new URL(`../../../test/fixtures/vectors/${name}`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as T;
}

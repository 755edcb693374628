// An option that counts as in force is read somewhere: none is parsed, documented and forgotten.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOption, masterOptions, masterStandings, type OptionTable } from '@brine/config';
import { expect, test } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;

const sources = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'apps', 'libs'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .filter((path) => !/^libs\/(?:testing|config\/src\/(?:options|standings))\//.test(path));
const texts = sources.map((path) => readFileSync(join(ROOT, path), 'utf8'));
const words = new Set(texts.flatMap((text) => text.match(/[\w.]+/g) ?? []));
/** Runners ask for options by Salt's names: `option('ca_bundle')`. */
const quoted = new Set(texts.flatMap((text) => text.match(/'[a-z_]+'/g) ?? []));
const properties = new Set([...words].flatMap((word) => word.split('.')));

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function unread(table: OptionTable): string[] {
  return Object.entries(table).flatMap(([name, entry]) => {
    if (Object.hasOwn(masterStandings, name)) return [];
    if (!isOption(entry)) return unread(entry);
    const isRead = properties.has(camelCase(name)) || words.has(camelCase(name));
    return isRead || quoted.has(`'${name}'`) ? [] : [name];
  });
}

test('each option of the master that is in force is read somewhere', () => {
  expect(unread(masterOptions)).toEqual([]);
});

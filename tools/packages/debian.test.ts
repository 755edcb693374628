import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changelogText, filledIn } from './debian.ts';

const PACKAGING = new URL('../../packaging/', import.meta.url).pathname;
const NAMES = ['brine-common', 'brine-master', 'brine-minion'];

test('each control file is filled in whole, and its description fits a terminal', () => {
  const known = { version: '1-1', architecture: 'amd64', maintainer: 'A <a@b.example>', size: '9' };
  expect(readdirSync(join(PACKAGING, 'debian')).sort()).toEqual(NAMES);
  for (const name of NAMES) {
    const text = filledIn(readFileSync(join(PACKAGING, 'debian', name, 'control'), 'utf8'), known);
    expect(text).toMatch(new RegExp(`^Package: ${name}\nVersion: 1-1\nArchitecture: amd64\n`));
    expect(text).not.toMatch(/\{\{/);
    const [, description = ''] = text.split('\nDescription: ');
    expect(description.split('\n').filter((line) => line.length > 80)).toEqual([]);
  }
  expect(() => filledIn('Version: {{nothing}}', known)).toThrow('{{nothing}} has no value');
});

test("the changelog has Debian's form, and the time of the release", () => {
  const release = { root: '/r', version: '1.2.3', epoch: 1_764_150_000, maintainer: 'A <a@b.c>' };
  expect(changelogText(release)).toBe(
    [
      'brine (1.2.3-1) unstable; urgency=medium',
      '',
      '  * Release 1.2.3: see changelog.gz.',
      '',
      ' -- A <a@b.c>  Wed, 26 Nov 2025 09:40:00 +0000',
      '',
    ].join('\n'),
  );
});

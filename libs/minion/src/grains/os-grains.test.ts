import { describe, expect, test } from 'vitest';
import { MinionError, type MinionErrorCode } from '../errors.ts';
import { linuxGrains, parseOsRelease } from './os-grains.ts';

describe('a line of os-release', () => {
  test.each([
    ['in double quotes', 'NAME="A B"', 'A B'],
    ['in single quotes', "NAME='A B'", 'A B'],
    ['without quotes', 'NAME=A', 'A'],
    ['with blanks around it', '  NAME=A  ', 'A'],
    ['with nothing', 'NAME=', ''],
    ['the last of two', 'NAME=A\nNAME=B', 'B'],
    ['that is a comment', '# NAME=A', undefined],
    ['in small letters', 'name=A', undefined],
    ['that is too long', `NAME=${'x'.repeat(300)}`, 'x'.repeat(200)],
  ])('%s', (_rule, text, value) => {
    expect(parseOsRelease(text).get('NAME')).toBe(value);
  });
});

describe('grains of a release', () => {
  test.each([
    ['the version as numbers', 'ID=rhel\nNAME=X\nVERSION_ID=9.3', 'osrelease_info', [9, 3]],
    ['a part that is no number', 'ID=x\nNAME=X\nVERSION_ID=9.rc1', 'osrelease_info', [9, 'rc1']],
    ['no version at all', 'ID=arch\nNAME=X', 'osrelease_info', []],
    ['the code name', 'ID=debian\nVERSION_CODENAME=bookworm', 'oscodename', 'bookworm'],
    ['a name without GNU/Linux', 'NAME="Debian GNU/Linux"', 'osfullname', 'Debian'],
    ['the family of what is not known', 'ID=x\nNAME=Mine', 'os_family', 'Mine'],
  ])('%s', (_rule, text, grain, value) => {
    expect(linuxGrains(parseOsRelease(text)).get(grain)).toEqual(value);
  });
});

test.each<[MinionErrorCode, number | undefined]>([
  ['SALT_MINION_REJECTED', 77],
  ['SALT_MINION_FINGER', 42],
  ['SALT_MINION_ALGORITHM', 1],
  ['SALT_MINION_SIGN_IN', undefined],
  ['SALT_MINION_REQUEST', undefined],
  ['SALT_MINION_REFUSED', undefined],
])('%s ends the process with %s', (code, exitCode) => {
  expect(new MinionError(code, 'x').exitCode).toBe(exitCode);
});

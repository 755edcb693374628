import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dialectOf, findInstalledSalt } from './installed-salt.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'salt-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function install(dir: string, version: string, shebang = '/bin/sh'): string {
  const packages = join(root, dir, 'lib', 'python3.11', 'site-packages');
  mkdirSync(join(packages, `salt-${version}.dist-info`), { recursive: true });
  mkdirSync(join(root, dir, 'bin'), { recursive: true });
  const script = join(root, dir, 'bin', 'salt');
  writeFileSync(script, `#!${shebang}\n`);
  chmodSync(script, 0o755);
  return script;
}

describe('findInstalledSalt', () => {
  it('finds the version of a virtual environment on the path', () => {
    install('venv', '3006.26');
    expect(findInstalledSalt(`/nowhere:${join(root, 'venv', 'bin')}`)?.version).toBe('3006.26');
  });

  it('follows a link, as packages set one in /usr/bin', () => {
    const script = install('onedir', '3007.13');
    mkdirSync(join(root, 'bin'));
    symlinkSync(script, join(root, 'bin', 'salt'));
    expect(findInstalledSalt(join(root, 'bin'))?.version).toBe('3007.13');
  });

  it('follows the interpreter of the script', () => {
    install('venv', '3008.2');
    mkdirSync(join(root, 'bin'));
    const python = join(root, 'venv', 'bin', 'python3');
    writeFileSync(join(root, 'bin', 'salt'), `#!${python}\n`);
    expect(findInstalledSalt(join(root, 'bin'))?.version).toBe('3008.2');
  });

  it('finds nothing where there is nothing, and trusts no relative path', () => {
    expect(findInstalledSalt('')).toBeUndefined();
    expect(findInstalledSalt(`.:relative:${root}`)).toBeUndefined();
  });
});

describe('the dialect', () => {
  it.each([
    ['3006.5', 'bare', false, false],
    ['3006.25', 'bare', false, false],
    ['3006.26', 'prefixed', false, false],
    ['3007.13', 'bare', false, true],
    ['3008.2', 'bare', true, false],
    [undefined, 'bare', true, false],
  ] as const)('of %s is %s', (version, framing, zone, wakes) => {
    expect(dialectOf(version)).toEqual({ framing, zone, wakes });
  });
});

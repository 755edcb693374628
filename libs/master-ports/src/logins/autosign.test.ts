import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { ensureKeyDirs } from '@brine/pki';
import { mapOf } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SigningFiles } from './autosign.ts';

let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'autosign-'));
  await ensureKeyDirs(join(dir, 'pki'));
  mkdirSync(join(dir, 'grains'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const write = (name: string, text: string, mode = 0o600): void => {
  writeFileSync(join(dir, name), text);
  chmodSync(join(dir, name), mode);
};

function files(changed: Partial<MasterOptions> = {}): SigningFiles {
  const { options } = loadMasterConfig({ configDir: '/nonexistent', env: {} });
  return new SigningFiles({
    ...options,
    pkiDir: join(dir, 'pki'),
    autosignFile: join(dir, 'autosign.conf'),
    autorejectFile: join(dir, 'autoreject.conf'),
    autosignGrainsDir: join(dir, 'grains'),
    ...changed,
  });
}

describe('signing files', () => {
  it.each([
    ['exact.example', 'accept'],
    ['web1.example', 'accept'],
    ['db07', 'accept'],
    ['db07x', 'none'],
    ['exact.example.org', 'none'],
    ['bad1', 'reject'],
    ['web-bad', 'reject'],
  ])('lines count as ids, globs and whole expressions: %s is judged %s', async (id, verdict) => {
    write('autosign.conf', '# comment\nexact.example\nweb*\ndb\\d{2}\n[broken(\n');
    write('autoreject.conf', 'bad1\nweb-bad\n');
    expect(await files().decide(id)).toBe(verdict);
  });

  it('that others may write count for nothing, the group only where that is allowed', async () => {
    write('autosign.conf', '*\n', 0o622);
    expect(await files().decide('a')).toBe('none');
    write('autosign.conf', '*\n', 0o620);
    expect(await files().decide('a')).toBe('none');
    expect(await files({ permissivePkiAccess: true }).decide('a')).toBe('accept');
    write('grains/role', 'web\n', 0o606);
    expect(await files().decide('a', mapOf({ role: 'web' }))).toBe('none');
  });
});

describe('autosign grains', () => {
  it.each([
    [mapOf({ uuid: 'abc' }), 'accept'],
    [mapOf({ uuid: 'abcd' }), 'none'],
    [mapOf({ uuid: '# abc' }), 'none'],
    [mapOf({ number: 7 }), 'accept'],
    [mapOf({ '../autosign.conf': 'abc' }), 'none'],
    [mapOf({ other: 'abc' }), 'none'],
    [undefined, 'none'],
  ])('%j is judged %s', async (grains, verdict) => {
    write('grains/uuid', '# abc\nabc\n');
    write('grains/number', '7\n');
    write('autosign.conf', 'abc\n');
    expect(await files().decide('new', grains)).toBe(verdict);
  });
});

describe('stubs', () => {
  it('a stub accepts one log-in; one that is too old accepts none and is removed', async () => {
    const stub = join(dir, 'pki', 'minions_autosign', 'new');
    writeFileSync(stub, '');
    expect(await files().decide('new')).toBe('accept');
    expect(await files().decide('new')).toBe('none');
    writeFileSync(stub, '');
    const old = Date.now() / 1000 - 3 * 3600;
    utimesSync(stub, old, old);
    expect(await files().decide('new')).toBe('none');
    utimesSync(join(dir, 'pki'), old, old);
    expect(await files({ autosignTimeout: 0 }).decide('new')).toBe('none');
  });
});

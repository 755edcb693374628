import { createHash } from 'node:crypto';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRoot, letPass, NOBODY } from '@brine/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { filePart, type FileRecord } from '../file-records.ts';
import type { Manifest } from '../manifest.ts';
import { hostOptions, restoredConfig, RestoreFiles } from './restore-files.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-hostile-'));
  letPass(dir);
  mkdirSync(join(dir, 'etc/master.d'), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Given {
  readonly record: FileRecord;
  readonly text: string;
}

const file = (root: FileRecord['root'], path: string, text = 'x'): Given => ({
  record: { root, path, mode: 0o600, owner: 'root' },
  text,
});

/** The configuration of the backup, as it would be put. */
const MAIN = (): Given =>
  file('config', 'master', `root_dir: ${dir}\npki_dir: pki\nautosign_file: lists/auto\n`);

/** A restore of these files; `host`: the host has this configuration. */
async function restoring(given: readonly Given[], host?: string): Promise<RestoreFiles> {
  if (host !== undefined) writeFileSync(join(dir, 'etc/master'), host);
  const parts = given.map(({ record, text }) => ({
    name: filePart(record),
    pieces: 1,
    bytes: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  }));
  const manifest = { files: given.map(({ record }) => record), parts } as unknown as Manifest;
  const kept = new Map(given.map(({ record, text }) => [filePart(record), Buffer.from(text)]));
  const config = await restoredConfig(hostOptions(join(dir, 'etc')), manifest, kept);
  return new RestoreFiles(manifest, config, undefined, false);
}

async function put(files: RestoreFiles, { record, text }: Given): Promise<void> {
  await files.put(record, Buffer.from(text));
}

describe('only what the options name is put', () => {
  const below = (path: string): string => join(dir, path).slice(1);
  test.each<[string, () => Given]>([
    ['any file of the host', () => file('host', 'etc/cron.d/brine')],
    ['a file beside a list', () => file('host', below('lists/other'))],
    ['any file that may be included', () => file('include', below('far/one.conf'))],
    ['a file of another program beside the configuration', () => file('config', 'minion')],
    ['a file that the configuration does not include', () => file('config', 'minion.d/a.conf')],
    ['the key that proves backups', () => file('pki', 'backup.key', 'k'.repeat(43))],
  ])('not %s', async (_what, one) => {
    const given = [one(), MAIN()];
    const files = await restoring(given).catch((error: unknown) => error as Error);
    // An include is asked for before anything else.
    if (!(files instanceof RestoreFiles)) {
      expect(files).toMatchObject({
        message: expect.stringContaining('which is not on this host'),
      });
      return;
    }
    const name = filePart(one().record);
    await expect(files.conflicts()).rejects.toThrow(`${name} may not be put: no option`);
    await expect(put(files, one())).rejects.toThrow(`${name} may not be put`);
    expect(readdirSync(dir)).toEqual(['etc']);
  });

  test('what it names is put', async () => {
    const given = [
      file('config', 'master.d/a.conf', 'timeout: 7\n'),
      file('host', below('lists/auto'), '*\n'),
      file('pki', 'minions/web-1'),
      MAIN(),
    ];
    const files = await restoring(given);
    expect(await files.conflicts()).toEqual([]);
    for (const one of given) await put(files, one);
    for (const path of ['etc/master.d/a.conf', 'lists/auto', 'pki/minions/web-1', 'etc/master']) {
      expect(lstatSync(join(dir, path)).isFile(), path).toBe(true);
    }
  });

  test('where the host has a configuration, that one names what is put', async () => {
    const host = `root_dir: ${dir}\npki_dir: own\n`;
    const list = file('host', below('lists/auto'));
    const files = await restoring([list, file('pki', 'minions/web-1'), MAIN()], host);
    expect(await files.conflicts()).toEqual([]);
    expect(files.leftOut()).toEqual([`${dir}/lists/auto`]);
    await put(files, list);
    await put(files, file('pki', 'minions/web-1'));
    expect(readdirSync(dir).sort()).toEqual(['etc', 'own']);
  });

  test('two files of it at one place are refused', async () => {
    const own = file('own-pki', 'minions/web-1', 'y');
    const files = await restoring([file('pki', 'minions/web-1'), own, MAIN()]);
    await expect(files.conflicts()).rejects.toThrow(`two files of it would be ${dir}/pki/minions`);
  });
});

test('nothing is put through a link, wherever it is on the way', async () => {
  mkdirSync(join(dir, 'outside'));
  const one = file('pki', 'a/b/c');
  for (const level of ['a', 'a/b']) {
    mkdirSync(dirname(join(dir, 'pki', level)), { recursive: true });
    symlinkSync(join(dir, 'outside'), join(dir, 'pki', level));
    const files = await restoring([one, MAIN()]);
    await expect(put(files, one), level).rejects.toThrow(`${dir}/pki/${level} is no directory`);
    expect(readdirSync(join(dir, 'outside'))).toEqual([]);
    rmSync(join(dir, 'pki'), { recursive: true });
  }
});

test('what a link at the place of a file leads to keeps its content and its time', async () => {
  writeFileSync(join(dir, 'outside'), 'of another', { mode: 0o600 });
  const before = lstatSync(join(dir, 'outside'));
  mkdirSync(join(dir, 'pki/minions'), { recursive: true });
  symlinkSync(join(dir, 'outside'), join(dir, 'pki/minions/web-1'));
  const one = { ...file('pki', 'minions/web-1') };
  const stub = { ...one, record: { ...one.record, mtimeMs: 5_000 } };
  const files = await restoring([stub, MAIN()]);
  expect(await files.conflicts()).toEqual([join(dir, 'pki/minions/web-1')]);
  await put(files, stub);
  const after = lstatSync(join(dir, 'outside'));
  expect(readFileSync(join(dir, 'outside'), 'utf8')).toBe('of another');
  expect([after.mtimeMs, after.mode]).toEqual([before.mtimeMs, before.mode]);
});

describe('in a directory of the account', () => {
  beforeEach((context) => {
    if (!isRoot) context.skip('only root works as others');
  });

  test.each(['pki/minions', 'pki/a', 'pki/a/b'])('%s leads root nowhere', async (level) => {
    const outside = join(dir, 'outside');
    mkdirSync(outside, { mode: 0o700 });
    const names = [`${level}/web-1`, `${level}/b/c`].map((path) => path.replace('pki/', ''));
    mkdirSync(dirname(join(dir, level)), { recursive: true });
    symlinkSync(outside, join(dir, level));
    for (const path of ['pki', dirname(level)]) chownSync(join(dir, path), NOBODY, NOBODY);
    for (const name of names) {
      const one = file('pki', name);
      const files = await restoring([one, MAIN()]);
      await expect(put(files, one)).rejects.toThrow(/outside|is no directory|may not enter/);
    }
    expect(readdirSync(outside)).toEqual([]);
  });

  test('what root puts there is of the account, whatever the backup says', async () => {
    mkdirSync(join(dir, 'pki'));
    chownSync(join(dir, 'pki'), NOBODY, NOBODY);
    const one = file('pki', 'minions/web-1');
    const files = await restoring([one, MAIN()]);
    await put(files, one);
    for (const path of ['pki/minions', 'pki/minions/web-1']) {
      expect(lstatSync(join(dir, path)).uid, path).toBe(NOBODY);
    }
  });
});

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journalPath } from '@brine/pki';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Printed, printedBy } from '../printed.fixture.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-key-sync-'));
  await mkdir(join(dir, 'pki'));
  await writeFile(join(dir, 'master'), `root_dir: ${dir}\npki_dir: ${join(dir, 'pki')}\n`);
});
afterEach(async () => {
  await rm(dir, { recursive: true });
});

function keySync(...args: readonly string[]): Promise<Printed> {
  return printedBy(['key', 'sync', '-c', dir, ...args]);
}

const alarm = { since: 1_795_195_193_000, vanished: 30, limit: 10, ids: ['web1', 'web2'] };

describe('brine key sync', () => {
  it('says that all is well where nothing vanished', async () => {
    const { code, out } = await keySync();
    expect({ code, out }).toEqual({
      code: 0,
      out: 'The key files are followed; nothing waits to be confirmed.\n',
    });
  });

  it('names keys that vanished, and changes nothing by itself', async () => {
    await writeFile(`${journalPath(join(dir, 'pki'))}.alarm`, JSON.stringify(alarm));
    const { code, out } = await keySync();
    expect(code).toBe(1);
    expect(out).toContain('30 key files vanished at once, more than 10: web1, web2 and 28 more');
    await expect(readFile(`${journalPath(join(dir, 'pki'))}.confirm`)).rejects.toThrow('ENOENT');
  });

  it('confirms', async () => {
    await writeFile(`${journalPath(join(dir, 'pki'))}.alarm`, JSON.stringify(alarm));
    expect((await keySync('--confirm')).code).toBe(0);
    const confirmed = await readFile(`${journalPath(join(dir, 'pki'))}.confirm`, 'utf8');
    expect(confirmed).toMatch(/^\d{4}-/);
  });
});

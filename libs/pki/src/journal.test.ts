import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyJournal } from './journal.ts';

let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'key-journal-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('KeyJournal', () => {
  it('survives a torn last line', async () => {
    const file = join(root, 'j');
    const journal = await KeyJournal.open(file);
    journal.set('a', { state: 'accepted', hash: 'h', revision: 7 });
    journal.set('b', { denied: 'd', revision: 8 });
    await journal.flushed();
    writeFileSync(file, `${readFileSync(file, 'utf8')}["c","acc`);
    const again = await KeyJournal.open(file);
    expect(again.existed).toBe(true);
    expect([...again.ids()]).toEqual(['a', 'b']);
    expect(again.get('b')).toEqual({ denied: 'd', revision: 8 });
  });

  it('does not grow without end', async () => {
    const file = join(root, 'j');
    const journal = await KeyJournal.open(file);
    for (let n = 0; n < 5_000; n += 1) {
      journal.set('a', { state: 'accepted', hash: `h${n}`, revision: n });
      if (n % 100 === 0) await journal.flushed();
    }
    await journal.flushed();
    expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(1_200);
  });
});

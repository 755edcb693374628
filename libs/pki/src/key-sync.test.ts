import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { growsOld, until } from '@brine/testing/waits';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { confirmKeySync, journalPath, KeyJournal, readKeySyncAlarm } from './journal.ts';
import { ensureKeyDirs } from './key-dirs.ts';
import { KeyStore } from './key-store.ts';
import { KeySync } from './key-sync.ts';
import type { KeyRecords } from './ports.ts';
import type { KeyRecord, StoredKey } from './reconcile.ts';

/** The shared record in memory: compare-and-set on the revision, as the real one. */
class MemoryRecords implements KeyRecords {
  isReady = true;
  readonly entries = new Map<string, StoredKey>();
  onChange: (id: string) => void = () => {};
  #revision = 0;

  ready(): boolean {
    return this.isReady;
  }

  ids(): Iterable<string> {
    return this.entries.keys();
  }

  get(id: string): StoredKey | undefined {
    return this.entries.get(id);
  }

  put(id: string, record: KeyRecord, expected?: number): Promise<number | undefined> {
    return Promise.resolve(this.write(id, record, expected));
  }

  write(id: string, record: KeyRecord, expected?: number): number | undefined {
    return this.entries.get(id)?.revision === expected ? this.set(id, record) : undefined;
  }

  set(id: string, record: KeyRecord): number {
    this.#revision += 1;
    this.entries.set(id, { record, revision: this.#revision });
    this.onChange(id);
    return this.#revision;
  }

  state = (id: string): string | undefined => this.entries.get(id)?.record.state;
}

let root = '';
let pkiDir = '';
let store: KeyStore;
let records: MemoryRecords;
let open: KeySync[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'key-sync-'));
  pkiDir = join(root, 'master');
  await ensureKeyDirs(pkiDir);
  writeFileSync(join(pkiDir, 'master.pem'), 'x');
  store = new KeyStore(pkiDir);
  records = new MemoryRecords();
});
afterEach(async () => {
  for (const sync of open) await sync.close();
  open = [];
  rmSync(root, { recursive: true, force: true });
});

const VANISH_MS = 120;

async function start(): Promise<KeySync> {
  const journal = await KeyJournal.open(journalPath(pkiDir));
  const sync = new KeySync(
    { store, journal, records },
    { vanishMs: VANISH_MS, rescanMs: 300, onTrouble: () => {} },
  );
  open.push(sync);
  records.onChange = (id) => sync.changed(id);
  await sync.start();
  return sync;
}

const path = (shelf: string, id: string): string => join(pkiDir, shelf, id);
const record = (state: KeyRecord['state'], pub = 'A'): KeyRecord => ({ state, pub, at: 1 });

/** Waits until m0, m1, … stand in minions/: the drafts that are written first are not counted. */
async function acceptedFiles(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, n) => `m${n}`).sort();
  await until('all accepted keys have their files', () =>
    expect(readdirSync(join(pkiDir, 'minions')).sort()).toEqual(ids),
  );
}

describe('KeySync', () => {
  it('shows a new pending record in minions_pre', async () => {
    await start();
    records.set('m1', record('pending'));
    await until('the pending key has its file', () => readFileSync(path('minions_pre', 'm1')));
  });

  it('brings a file that salt-key moved into the record', async () => {
    await start();
    records.set('m1', record('pending'));
    await until('the pending key has its file', () => readFileSync(path('minions_pre', 'm1')));
    renameSync(path('minions_pre', 'm1'), path('minions', 'm1'));
    await until('the moved key is accepted', () => expect(records.state('m1')).toBe('accepted'));
  });

  it('keeps a file that is moved the moment it can be seen', async () => {
    await start();
    for (let n = 0; n < 20; n += 1) {
      const id = `m${n}`;
      records.set(id, record('pending', `k${n}`));
      while (!existsSync(path('minions_pre', id))) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      renameSync(path('minions_pre', id), path('minions', id));
    }
    await until('all 20 moved keys are accepted', () => {
      expect([...records.ids()].map((id) => records.state(id))).toEqual(
        Array<string>(20).fill('accepted'),
      );
      return true;
    });
  });

  it('takes a slow move, first gone and then there, for a move', async () => {
    await start();
    records.set('m1', record('pending'));
    await until('the pending key has its file', () => readFileSync(path('minions_pre', 'm1')));
    const seen: (string | undefined)[] = [];
    records.onChange = (id) => {
      seen.push(records.state(id));
      open[0]?.changed(id);
    };
    unlinkSync(path('minions_pre', 'm1'));
    await growsOld('the missing file', VANISH_MS / 2);
    writeFileSync(path('minions', 'm1'), 'A\n');
    await until('the moved key is accepted', () => expect(records.state('m1')).toBe('accepted'));
    expect(seen).toEqual(['accepted']);
  });

  it('takes a file that stays away for a deletion', async () => {
    await start();
    records.set('m1', record('accepted'));
    await until('the accepted key has its file', () => readFileSync(path('minions', 'm1')));
    unlinkSync(path('minions', 'm1'));
    await until('the key without a file is deleted', () =>
      expect(records.state('m1')).toBe('deleted'),
    );
  });

  it('imports the keys of a stock master', async () => {
    for (const id of ['a', 'b']) writeFileSync(path('minions', id), `${id}\n`);
    writeFileSync(path('minions_rejected', 'c'), 'c\n');
    writeFileSync(path('minions_denied', 'a'), 'other\n');
    const sync = await start();
    expect(['a', 'b', 'c'].map((id) => records.state(id))).toEqual([
      'accepted',
      'accepted',
      'rejected',
    ]);
    expect(records.get('a')?.record.denied).toEqual(['other']);
    expect(sync.status()).toMatchObject({ keys: 3, toRecords: 3, toFiles: 0 });
  });

  it('finds files that changed while it was down', async () => {
    const first = await start();
    for (const id of ['a', 'b', 'c']) records.set(id, record('accepted', id));
    await until('three keys have their files', () =>
      expect(readdirSync(join(pkiDir, 'minions'))).toHaveLength(3),
    );
    await first.close();
    records.onChange = () => {};
    renameSync(path('minions', 'a'), path('minions_rejected', 'a'));
    records.set('b', record('deleted', ''));
    unlinkSync(path('minions', 'c'));
    await start();
    expect(records.state('a')).toBe('rejected');
    expect(readdirSync(join(pkiDir, 'minions'))).toEqual([]);
    await until('the vanished key is deleted', () => expect(records.state('c')).toBe('deleted'));
  });

  it('stops when very many files vanish, until that is confirmed', async () => {
    const sync = await start();
    for (let n = 0; n < 30; n += 1) records.set(`m${n}`, record('accepted', `k${n}`));
    await acceptedFiles(30);
    for (let n = 0; n < 11; n += 1) unlinkSync(path('minions', `m${n}`));
    await until('the alarm tells of 11 keys', () =>
      expect(sync.status().alarm).toMatchObject({ vanished: 11, limit: 10 }),
    );
    records.set('late', record('pending'));
    await growsOld('each missing file', VANISH_MS);
    // Looks once more.
    expect(await sync.settled(5_000)).toBe(false);
    expect(records.state('m0')).toBe('accepted');
    expect(readdirSync(join(pkiDir, 'minions_pre'))).toEqual([]);
    await until('the alarm is in its file', async () =>
      expect((await readKeySyncAlarm(pkiDir))?.ids).toHaveLength(11),
    );

    expect(await confirmKeySync(pkiDir)).toBe(true);
    await until('the last is deleted', () => expect(records.state('m10')).toBe('deleted'));
    const waiting = (): string[] => readdirSync(join(pkiDir, 'minions_pre'));
    await until('the late key has its file', () => expect(waiting()).toEqual(['late']));
    expect(await readKeySyncAlarm(pkiDir)).toBeUndefined();
    await until('the keys that are left are counted', () => expect(sync.status().keys).toBe(20));
  });

  it('does not stop again while it does what an operator confirmed', async () => {
    const sync = await start();
    for (let n = 0; n < 30; n += 1) records.set(`m${n}`, record('accepted', `k${n}`));
    await acceptedFiles(30);
    for (let n = 0; n < 11; n += 1) unlinkSync(path('minions', `m${n}`));
    await until('the alarm is raised', () => expect(sync.status().alarm).toBeDefined());
    // Writing takes as long as a few looks, each of which asks whether the record is ready.
    let write = (): void => undefined;
    const written = new Promise<void>((resolve) => (write = resolve));
    const [put, ready] = [vi.spyOn(records, 'put'), vi.spyOn(records, 'ready')];
    put.mockImplementation((id, to, at) => written.then(() => records.write(id, to, at)));
    await until('the alarm can be confirmed', () => confirmKeySync(pkiDir));
    await until('the 11 deletions are begun', () => expect(put).toHaveBeenCalledTimes(11));
    const alarms: unknown[] = [];
    const asked = ready.mock.calls.length;
    const looks = Array.from({ length: 3 }, () => sync.settled(0));
    await until('three more looks', () => {
      alarms.push(sync.status().alarm);
      return ready.mock.calls.length >= asked + looks.length;
    });
    write();
    await until('11 deletions are done', () => {
      alarms.push(sync.status().alarm);
      expect(records.state('m0')).toBe('deleted');
      expect(sync.status().keys).toBe(19);
      return true;
    });
    expect(alarms.filter((alarm) => alarm !== undefined)).toEqual([]);
  });

  it('goes on by itself when the files are there again', async () => {
    const sync = await start();
    for (let n = 0; n < 20; n += 1) records.set(`m${n}`, record('accepted', `k${n}`));
    await acceptedFiles(20);
    renameSync(join(pkiDir, 'minions'), join(pkiDir, 'elsewhere'));
    await ensureKeyDirs(pkiDir);
    await until('the alarm is raised', () => expect(sync.status().alarm).toBeDefined());
    rmSync(join(pkiDir, 'minions'), { recursive: true });
    renameSync(join(pkiDir, 'elsewhere'), join(pkiDir, 'minions'));
    await until('the alarm is over', () => expect(sync.status().alarm).toBeUndefined());
    expect([...records.entries.values()].every((one) => one.record.state === 'accepted')).toBe(
      true,
    );
  });

  it('does nothing at all while the volume is not mounted', async () => {
    const sync = await start();
    records.set('m1', record('accepted'));
    await until('the accepted key has its file', () => readFileSync(path('minions', 'm1')));
    renameSync(pkiDir, `${pkiDir}-away`);
    await until('the volume is seen to be away', () => expect(sync.status().away).toBe(true));
    renameSync(`${pkiDir}-away`, pkiDir);
    await until('the volume is seen to be back', () => expect(sync.status().away).toBe(false));
    expect(records.state('m1')).toBe('accepted');
    records.set('m2', record('pending'));
    await until('the pending key has its file', () => readFileSync(path('minions_pre', 'm2')));
  });

  it('waits while the record is being read again', async () => {
    const sync = await start();
    records.set('m1', record('accepted'));
    await until('the accepted key has its file', () => readFileSync(path('minions', 'm1')));
    records.isReady = false;
    records.entries.clear();
    writeFileSync(path('minions', 'm2'), 'B\n');
    expect(await sync.settled(2 * VANISH_MS)).toBe(false);
    expect(records.entries.size).toBe(0);
    records.isReady = true;
    sync.resync();
    await until('both keys are accepted', () => {
      expect(records.state('m2')).toBe('accepted');
      expect(records.state('m1')).toBe('accepted');
      return true;
    });
  });

  it('brings 5,000 keys together', async () => {
    for (let n = 0; n < 5_000; n += 1) writeFileSync(path('minions', `m${n}`), `key ${n}\n`);
    const sync = await start();
    expect(sync.status()).toMatchObject({ keys: 5_000, failures: 0 });
  });
});

import { describe, expect, test } from 'vitest';
import { type Claimant, DueRecords, SILENT_MS } from './due-records.ts';

/** A bucket in memory, with the revisions that the real one compares. */
class MemoryBucket {
  readonly #values = new Map<string, { value: Uint8Array; revision: number }>();
  #revision = 0;
  /** Called before each write: another process may write in between. */
  before: () => Promise<void> = () => Promise.resolve();

  async get(key: string) {
    const found = this.#values.get(key);
    return found && { key: key as never, timeMs: 0, ...found };
  }

  async update(key: string, value: Uint8Array, revision: number): Promise<number | undefined> {
    await this.before();
    if ((this.#values.get(key)?.revision ?? 0) !== revision) return undefined;
    this.#revision += 1;
    this.#values.set(key, { value, revision: this.#revision });
    return this.#revision;
  }
}

let jids = 0;
const by = (processId: string, nowMs: number, maxRunning?: number): Claimant => ({
  processId,
  nowMs,
  maxRunning,
  newJid: () => `j${(jids += 1)}`,
});

describe('a due time', () => {
  test('is had by one worker, and is known once it has ended', async () => {
    const records = new DueRecords(new MemoryBucket());
    const first = await records.claim('a', 1_000, by('one', 1_100));
    expect(first).toMatchObject({ kind: 'mine', again: false });
    expect(await records.claim('a', 1_000, by('two', 1_200))).toEqual({ kind: 'elsewhere' });
    await records.ended('a', 1_000, { endedMs: 2_000, success: true });
    expect(await records.claim('a', 1_000, by('two', 99_000))).toEqual({ kind: 'known' });
    expect(await records.runs('a')).toMatchObject([{ dueMs: 1_000, success: true, worker: 'one' }]);
  });

  test('goes to another worker when its own is silent, under the same job id', async () => {
    const records = new DueRecords(new MemoryBucket());
    const first = await records.claim('a', 1_000, by('one', 1_000));
    expect(await records.alive('a', 1_000, 'one', 20_000)).toBe(true);
    const silent = 20_000 + SILENT_MS;
    expect(await records.claim('a', 1_000, by('two', silent - 1))).toEqual({ kind: 'elsewhere' });
    const second = await records.claim('a', 1_000, by('two', silent));
    expect(second).toEqual({ ...first, again: true });
    // The first one was only paused.
    expect(await records.alive('a', 1_000, 'one', silent + 1)).toBe(false);
  });

  test('that two workers reach for at once is had by one', async () => {
    const bucket = new MemoryBucket();
    const one = new DueRecords(bucket);
    const two = new DueRecords(bucket);
    const claims = await Promise.all([
      one.claim('a', 1_000, by('one', 1_000)),
      two.claim('a', 1_000, by('two', 1_000)),
    ]);
    expect(claims.map(({ kind }) => kind).sort()).toEqual(['elsewhere', 'mine']);
  });

  test('that comes again after all others were forgotten is known', async () => {
    const records = new DueRecords(new MemoryBucket());
    for (let due = 1; due <= 40; due += 1) {
      await records.claim('a', due * 1_000, by('one', due * 1_000));
      await records.ended('a', due * 1_000, { endedMs: due * 1_000 + 1 });
    }
    expect(await records.runs('a')).toHaveLength(32);
    expect(await records.claim('a', 3_000, by('two', 50_000))).toEqual({ kind: 'known' });
  });
});

describe('maxrunning', () => {
  test('keeps a due time from running, for good', async () => {
    const records = new DueRecords(new MemoryBucket());
    await records.claim('a', 1_000, by('one', 1_000, 1));
    expect(await records.claim('a', 2_000, by('two', 2_000, 1))).toEqual({ kind: 'full' });
    await records.ended('a', 1_000, { endedMs: 3_000 });
    expect(await records.claim('a', 2_000, by('two', 4_000, 1))).toEqual({ kind: 'known' });
    expect((await records.claim('a', 5_000, by('two', 5_000, 1))).kind).toBe('mine');
    expect((await records.runs('a'))[1]).toMatchObject({ dueMs: 2_000, reason: 'maxrunning' });
  });

  test('counts for each job apart, and not at all without one', async () => {
    const records = new DueRecords(new MemoryBucket());
    for (const due of [1_000, 2_000, 3_000]) {
      expect((await records.claim('a', due, by('one', due))).kind).toBe('mine');
    }
    expect((await records.claim('b', 1_000, by('one', 1_000, 1))).kind).toBe('mine');
  });

  test('a run that was lost with its message does not hold the others for ever', async () => {
    const records = new DueRecords(new MemoryBucket());
    await records.claim('a', 1_000, by('one', 1_000, 1));
    const later = 1_000 + 20 * 60_000;
    expect((await records.claim('a', later, by('two', later, 1))).kind).toBe('mine');
  });
});

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BucketChange, type BucketName, type BucketPlace, escapeKey } from '@brine/bus';
import { BANK_BUCKETS, type StoredBank } from '@brine/master-state';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltMap } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BankMirror, type BankMirrorParts, type Follower } from './bank-mirror.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'mirror-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A bucket whose changes a test makes. */
class FakeBucket implements Follower {
  place: BucketPlace = { incarnation: 'i', revision: 0 };
  #changes: BucketChange[] = [];
  #revision = 0;
  #wake: () => void = () => undefined;
  #closed = false;

  get caughtUp(): boolean {
    return this.#changes.length === 0;
  }

  change(...names: [string, ...string[]]): void {
    this.#revision += 1;
    this.#changes.push({ key: escapeKey(...names), revision: this.#revision, timeMs: 1_000 });
    this.#wake();
  }

  async take(max: number): Promise<readonly BucketChange[]> {
    while (this.#changes.length === 0 && !this.#closed) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#changes.splice(0, max);
  }

  done(changes: readonly BucketChange[]): void {
    this.place = { incarnation: 'i', revision: changes.at(-1)?.revision ?? 0 };
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }
}

/** A mirror with what it did, as lines. */
function scene(more: Partial<BankMirrorParts> & { readonly layout: '3006' | '3008' }) {
  const buckets = new Map<BucketName, FakeBucket>();
  const after: unknown[] = [];
  const stored = new Map<string, SaltMap>();
  const done: string[] = [];
  const troubles: string[] = [];
  const keys = new Set<string>();
  const bucketOf = (bank: StoredBank): FakeBucket => {
    const name = BANK_BUCKETS[bank];
    const bucket = buckets.get(name) ?? new FakeBucket();
    buckets.set(name, bucket);
    return bucket;
  };
  const files: BankMirrorParts['files'] = {
    layout: more.layout,
    write: async (bank, id, data, { env }) => {
      done.push(`${data === undefined ? 'drop' : 'write'} ${bank} ${id}${env ? `:${env}` : ''}`);
    },
    writeData: async (id, { grains, pillar }) => {
      done.push(`data ${id} ${grains ? 'grains' : '-'} ${pillar ? 'pillar' : '-'}`);
    },
    remove: async (id) => void done.push(`remove ${id}`),
  };
  const mirror = new BankMirror({
    files,
    banks: {
      fetch: async (bank, id, env) => stored.get([bank, id, env].filter(Boolean).join(' ')),
    },
    wanted: ['grains', 'pillar', 'mine'],
    hasKey: (id) => keys.has(id),
    knowsKeys: () => true,
    journal: join(dir, 'journal'),
    follow: async (name, place) => {
      after.push([name, place]);
      const bucket = buckets.get(name) ?? new FakeBucket();
      buckets.set(name, bucket);
      return bucket;
    },
    onTrouble: (text) => void troubles.push(text),
    ...more,
  });
  const settled = (): Promise<unknown> => until('the mirror is even', () => mirror.isEven);
  return { mirror, bucketOf, stored, done, troubles, keys, after, settled };
}

test('each change of a bank becomes its file, and what is emptied goes', async () => {
  const { mirror, bucketOf, stored, done, keys, settled } = scene({ layout: '3008' });
  keys.add('a');
  stored
    .set('grains a', mapOf({ os: 'x' }))
    .set('pillar a', mapOf({}))
    .set('mine a', mapOf({}));
  stored.set('pillar a dev', mapOf({ p: 1 }));
  bucketOf('grains').change('a');
  bucketOf('pillar').change('a');
  bucketOf('pillar').change('a', 'dev');
  bucketOf('mine').change('a');
  mirror.start();
  await settled();
  expect([...done].sort()).toEqual([
    'write grains a',
    'write mine a',
    'write pillar a',
    'write pillar a:dev',
  ]);
  stored.delete('grains a');
  bucketOf('grains').change('a');
  await until('the file is dropped', () => done.includes('drop grains a'));
  keys.delete('a');
  bucketOf('grains').change('a');
  await until('all of the minion goes with its key', () => done.includes('remove a'));
  await mirror.close();
});

test('grains and pillar of 3006 are one file, of which the newest of both is written', async () => {
  const { mirror, bucketOf, stored, done, keys, settled } = scene({ layout: '3006' });
  keys.add('a');
  stored.set('grains a', mapOf({ os: 'x' }));
  bucketOf('grains').change('a');
  mirror.start();
  await settled();
  expect(done).toEqual(['data a grains -']);
  stored.set('pillar a', mapOf({ p: 1 }));
  bucketOf('pillar').change('a');
  bucketOf('pillar').change('a', 'dev');
  bucketOf('grains').change('a');
  await until('both are written', () => done.length >= 3);
  await settled();
  expect(done.slice(1)).toEqual(['data a grains pillar', 'data a grains pillar']);
  await mirror.close();
});

test('what is no record of a minion is passed over, and an odd one stops no other', async () => {
  const { mirror, bucketOf, stored, done, keys, troubles, settled } = scene({
    layout: '3008',
    banks: {
      fetch: async (_bank, id) => {
        if (id === 'odd') throw new Error('can not be opened');
        return stored.get(id);
      },
    },
  });
  for (const id of ['odd', 'good']) keys.add(id);
  stored.set('good', mapOf({}));
  bucketOf('grains').change('a/b');
  bucketOf('grains').change('odd');
  bucketOf('grains').change('syndic', 'x');
  bucketOf('grains').change('good');
  mirror.start();
  await settled();
  expect(done).toEqual(['write grains good']);
  expect(troubles).toEqual(['the data of minion odd were not written']);
  expect(mirror.status()).toMatchObject({ written: 1, failed: 1 });
  await mirror.close();
});

test('a file that may not be written stops no other, but all of them together do', async () => {
  const written: string[] = [];
  const files: BankMirrorParts['files'] = {
    layout: '3008',
    write: async (_bank, id) => {
      if (id === 'locked') throw Object.assign(new Error('not ours'), { code: 'EACCES' });
      written.push(id);
    },
    writeData: async () => undefined,
    remove: async () => undefined,
  };
  const { mirror, bucketOf, troubles, keys } = scene({ layout: '3008', files });
  for (const id of ['locked', 'good']) keys.add(id);
  bucketOf('grains').change('locked');
  bucketOf('grains').change('good');
  bucketOf('mine').change('locked');
  mirror.start();
  await until('both are tried', () => bucketOf('grains').place.revision === 2);
  await until('the mine is tried', () => (mirror.status() as { failed: number }).failed === 2);
  expect(written).toEqual(['good']);
  expect(troubles).toContain('the data of minion locked were not written');
  await mirror.close();
  expect(bucketOf('mine').place.revision).toBe(0);
});

test('it begins where it ended, unless the files are to be of another layout', async () => {
  const first = scene({ layout: '3008' });
  first.keys.add('a');
  first.stored.set('grains a', mapOf({}));
  first.bucketOf('grains').change('a');
  first.mirror.start();
  await first.settled();
  await first.mirror.close();
  const place = { incarnation: 'i', revision: 1 };
  expect(JSON.parse(readFileSync(join(dir, 'journal'), 'utf8'))).toEqual({
    layout: '3008',
    places: { grains: place },
  });
  const again = scene({ layout: '3008' });
  again.mirror.start();
  await until('all banks are followed', () => again.after.length === 3);
  expect(again.after).toContainEqual(['brine_minions', place]);
  await again.mirror.close();
  const other = scene({ layout: '3006' });
  other.mirror.start();
  await until('all banks are followed', () => other.after.length === 3);
  expect(other.after).toContainEqual(['brine_minions', undefined]);
  await other.mirror.close();
});

test('nothing is written before it is known which minions have a key', async () => {
  const known = { keys: false };
  const { mirror, after } = scene({ layout: '3008', knowsKeys: () => known.keys });
  mirror.start();
  expect(after).toEqual([]);
  known.keys = true;
  await until('all banks are followed', () => after.length === 3);
  await mirror.close();
});

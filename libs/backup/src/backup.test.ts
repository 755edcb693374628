import { expect, test } from 'vitest';
import { BackupKey } from './backup-key.ts';
import { checkBackup } from './check-backup.ts';
import type { BackupSource } from './edge/live-source.ts';
import type { BackupTarget, TablesTarget } from './edge/restore-target.ts';
import type { FileRecord } from './file-records.ts';
import { makeBackup } from './make-backup.ts';
import type { Json, Manifest, StreamRecord } from './manifest.ts';
import { putBack } from './put-back.ts';

const BACKUP_KEY = BackupKey.parse('k'.repeat(43));
const ABOUT = { name: 'b1', release: '0.2.0', master: 'm', host: 'h' };
const KEY: FileRecord = { root: 'pki', path: 'minions/web-1', mode: 0o644, owner: 'root' };
const LARGE = Buffer.alloc(3 * 1024 * 1024 + 5, 'x');

async function* given(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
}

async function* values(...all: readonly Json[]): AsyncGenerator<Json> {
  for (const one of all) yield await Promise.resolve(one);
}

/** A master in memory, and the order in which it was read. */
function sourceOf(order: string[] = []): BackupSource {
  return {
    streams: ['EVENTS', 'REACTIONS', 'KV_keys'],
    async *files() {
      order.push('files');
      yield { record: KEY, data: await Promise.resolve(Buffer.from('a key')) };
      yield { record: { ...KEY, path: 'link', link: 'minions' }, data: Buffer.alloc(0) };
    },
    readers: () => {
      order.push('readers');
      return Promise.resolve([{ stream: 'EVENTS', reader: 'store', ackFloor: 7, config: {} }]);
    },
    stream: (name) => {
      order.push(name);
      if (name === 'REACTIONS') return Promise.resolve(undefined);
      const record = { config: { name }, state: { last_seq: 9 }, messages: 2, bytes: 3 };
      const content = name.startsWith('KV_')
        ? { values: values({ name, value: 'bucket' }, { name, more: 'x\ny' }) }
        : { chunks: given(LARGE, 'end') };
      return Promise.resolve({ ...record, ...content });
    },
    lastSequences: () => {
      order.push('sequences');
      return Promise.resolve({ EVENTS: 12 });
    },
    tables: () => {
      order.push('tables');
      const tables = ['brine.jobs', 'brine.returns'].map((name) => ({ name, columns: ['jid'] }));
      return Promise.resolve({
        head: {
          tables,
          days: ['20261126'],
          migrations: [],
          archived: [],
          lastJid: '20261126000000000001',
        },
        table: ({ name }) => (name === 'brine.jobs' ? given('1\n', '2\n') : given()),
        sequences: () => Promise.resolve({ 'brine.n': '5' }),
        close: () => Promise.resolve(),
      });
    },
  };
}

async function backup(source = sourceOf()): Promise<{ bytes: Buffer; manifest: Manifest }> {
  const chunks: Uint8Array[] = [];
  const write = (bytes: Uint8Array): Promise<void> => {
    chunks.push(Buffer.from(bytes));
    return Promise.resolve();
  };
  const manifest = await makeBackup(source, ABOUT, { write, key: BACKUP_KEY, now: () => 5_000 });
  return { bytes: Buffer.concat(chunks), manifest };
}

/** A host without anything on it. */
class Target implements BackupTarget {
  readonly done: Set<string>;
  readonly got: [string, string][] = [];
  /** The part at which the run is killed. */
  readonly #killedAt: string | undefined;

  constructor(done: Iterable<string> = [], killedAt?: string) {
    this.done = new Set(done);
    this.#killedAt = killedAt;
  }

  finished(part: string): Promise<void> {
    this.done.add(part);
    return Promise.resolve();
  }
  file({ path, link }: FileRecord, data: Uint8Array): Promise<void> {
    return this.#take(`file ${path}${link === undefined ? '' : ` -> ${link}`}`, String(data));
  }
  async stream({ name }: StreamRecord, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#take(name, await textOf(chunks));
  }
  async values({ name }: StreamRecord, all: AsyncIterable<Json>): Promise<void> {
    for await (const one of all) await this.#take(name, JSON.stringify(one));
  }
  tables(): Promise<TablesTarget> {
    return Promise.resolve({
      table: async ({ name }, chunks) => this.#take(name, await textOf(chunks)),
      commit: (sequences) => this.#take('commit', JSON.stringify(sequences)),
    });
  }
  useSequences(used: Manifest['usedSequences']): Promise<void> {
    return this.#take('sequences', JSON.stringify(used));
  }
  readers(readers: Manifest['readers']): Promise<void> {
    return this.#take('readers', readers.map(({ reader }) => reader).join());
  }
  #take(name: string, text: string): Promise<void> {
    if (name === this.#killedAt) return Promise.reject(new Error('killed'));
    this.got.push([name, text]);
    return Promise.resolve();
  }
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += String(Buffer.from(chunk));
  return text;
}

const ALL: readonly [string, string][] = [
  ['file minions/web-1', 'a key'],
  ['file link -> minions', ''],
  ['EVENTS', `${String(LARGE)}end`],
  ['KV_keys', '{"name":"KV_keys","value":"bucket"}'],
  ['KV_keys', '{"name":"KV_keys","more":"x\\ny"}'],
  ['brine.jobs', '1\n2\n'],
  ['commit', '{"brine.n":"5"}'],
  ['sequences', '{"EVENTS":12}'],
  ['readers', 'store'],
];

test('places of readers are read before streams, and PostgreSQL after them', async () => {
  const order: string[] = [];
  await backup(sourceOf(order));
  const streams = ['EVENTS', 'REACTIONS', 'KV_keys'];
  expect(order).toEqual(['files', 'readers', ...streams, 'tables', 'sequences']);
});

test('what is put back is what was taken, in pieces of 1 MiB', async () => {
  const { bytes, manifest } = await backup();
  const checked = await checkBackup(given(bytes), (name) => name.startsWith('files/pki/m'));
  expect(checked.manifest).toEqual(manifest);
  expect(checked.kept).toEqual(new Map([['files/pki/minions/web-1', Buffer.from('a key')]]));
  expect(manifest).toMatchObject({ mark: '1970-01-01T00:00:05.000Z', lastJid: /\d/ });
  expect(manifest.parts.find(({ name }) => name === 'streams/EVENTS')?.pieces).toBe(4);
  const target = new Target();
  await putBack(given(bytes), manifest, target);
  expect(target.got).toEqual(ALL);
});

test('a run that is killed anywhere is ended by the next', async () => {
  const { bytes, manifest } = await backup();
  for (const [killedAt] of ALL) {
    const first = new Target([], killedAt);
    await expect(putBack(given(bytes), manifest, first)).rejects.toThrow('killed');
    const next = new Target(first.done);
    await putBack(given(bytes), manifest, next);
    const streams = ['EVENTS', 'brine.jobs', 'commit'];
    for (const name of streams) {
      const isDone = first.done.has(`streams/${name}`) || first.done.has('tables');
      const runs = [...first.got, ...next.got].filter(([one]) => one === name).length;
      expect([killedAt, name, runs > 0, isDone && runs > 1]).toEqual([killedAt, name, true, false]);
    }
    expect(next.got.at(-1)).toEqual(['readers', 'store']);
  }
});

test('a file that is cut off anywhere is refused', async () => {
  const { bytes } = await backup();
  // The archive ends with two empty blocks.
  for (let length = 0; length < bytes.length - 1024; length += 262_139) {
    const cut = checkBackup(given(bytes.subarray(0, length)));
    await expect(cut, `${length} bytes`).rejects.toThrow(/cut off|damaged|empty/);
  }
});

test('a byte that changed in any part is found before anything is written', async () => {
  const { bytes } = await backup();
  for (const needle of ['a key', 'xxxxend', 'bucket', '"more"', '1\n2\n', '"ackFloor":7']) {
    const changed = Buffer.from(bytes);
    const at = changed.indexOf(needle);
    expect(at, needle).toBeGreaterThan(0);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const what = checkBackup(given(changed));
    if (needle === '"ackFloor":7') await expect(what, needle).rejects.toThrow('damaged');
    else await expect(what, needle).rejects.toThrow('is damaged: use another backup');
  }
});

test.each([
  ['', 'it is damaged or cut off'],
  ['not a tar archive at all', 'it is damaged or cut off'],
])('%j is no backup', async (text, why) => {
  await expect(checkBackup(given(text))).rejects.toThrow(why);
});

test('a source that fails breaks the backup off with its error', async () => {
  const source = { ...sourceOf(), readers: () => Promise.reject(new Error('NATS is away')) };
  await expect(backup(source)).rejects.toThrow('NATS is away');
});

test('a disk that is full ends the backup with its error', async () => {
  const write = (): Promise<void> => Promise.reject(new Error('ENOSPC'));
  const made = makeBackup(sourceOf(), ABOUT, { write, key: BACKUP_KEY, now: () => 0 });
  await expect(made).rejects.toThrow('ENOSPC');
});

test('a master without streams is refused', async () => {
  const source = { ...sourceOf(), stream: () => Promise.resolve(undefined) };
  await expect(backup(source)).rejects.toThrow('NATS has no streams of a master');
});

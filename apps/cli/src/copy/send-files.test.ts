import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Command, JobReturn } from '@brine/client';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterAll, expect, test } from 'vitest';
import { type Sending, sendInPieces, sendWhole } from './send-files.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-cp-send-'));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

/** Minions that take pieces as modules/cp.py does; `answer` may give another return, or none. */
type Answer = (id: string, index: number) => SaltValue | undefined;

class Minions {
  readonly files = new Map<string, Buffer>();
  readonly sent: { readonly tgt: Command['tgt']; readonly append: SaltValue | undefined }[] = [];
  readonly #ids: readonly string[];
  readonly #answer: Answer;

  constructor(ids: readonly string[], answer: Answer = () => true) {
    this.#ids = ids;
    this.#answer = answer;
  }

  readonly client: Sending['client'] = {
    publish: async (command) => {
      const given = command.arg[0];
      if (!isMap(given)) throw new Error('no named arguments');
      const ids = typeof command.tgt === 'string' ? this.#ids : command.tgt;
      this.sent.push({ tgt: command.tgt, append: given.get('append') });
      for (const id of ids) this.#take(id, given);
      return ids.length === 0 ? undefined : { jid: String(this.sent.length - 1), minions: ids };
    },
    returns: (job) => this.#returns(job.minions, Number(job.jid)),
  };

  async *#returns(ids: readonly string[], index: number): AsyncGenerator<JobReturn> {
    for (const id of ids) {
      const ret = this.#answer(id, index);
      yield ret === undefined ? { kind: 'missing', id } : { kind: 'return', id, ret };
    }
  }

  #take(id: string, given: SaltMap): void {
    const chunk = given.get('chunk') ?? null;
    if (this.#answer(id, this.sent.length - 1) !== true || typeof chunk !== 'string') return;
    const bytes = Buffer.from(chunk, 'base64');
    const plain = given.get('compressed') === true ? gunzipSync(bytes) : bytes;
    const name = `${id}:${textOf(given, 'dest') ?? ''}`;
    const before = given.get('append') === true ? this.files.get(name) : undefined;
    this.files.set(name, Buffer.concat([before ?? Buffer.alloc(0), plain]));
  }
}

const told: string[] = [];
const printed: string[] = [];

function sending(minions: Minions, path: string, compressed = true): Sending {
  return {
    client: minions.client,
    copy: { target: { tgt: '*', tgtType: 'glob' }, sources: [path], dest: '/to/file' },
    chunkBytes: 1000,
    compressed,
    print: (text) => told.push(text),
    out: (text) => printed.push(text),
  };
}

function fileOf(bytes: number): string {
  const path = join(DIR, `file-${bytes}`);
  writeFileSync(path, Buffer.alloc(bytes, 'brine '));
  return path;
}

const tree = (path: string) => ({ files: [{ path, mode: 0o644 }], emptyDirs: [] });

test.each([
  [0, true],
  [0, false],
  [999, true],
  [1000, false],
  [3500, true],
])('a file of %i bytes arrives as it is (compressed: %s)', async (bytes, compressed) => {
  const path = fileOf(bytes);
  const minions = new Minions(['m1', 'm2']);
  const shown = await sendInPieces(sending(minions, path, compressed), tree(path));
  expect(shown).toEqual(
    mapOf({ m1: mapOf({ '/to/file': true }), m2: mapOf({ '/to/file': true }) }),
  );
  expect(minions.files.get('m2:/to/file')).toEqual(Buffer.alloc(bytes, 'brine '));
  expect(minions.sent.map(({ append }) => append)).toEqual(
    Array.from({ length: Math.max(1, Math.ceil(bytes / 1000)) }, (_, at) => at > 0),
  );
});

test('a minion that missed a piece gets no more of the file, and is shown with it', async () => {
  const path = fileOf(2500);
  const minions = new Minions(['good', 'full', 'gone'], (id, index) => {
    if (id === 'full' && index === 0) return 'No space left on device';
    if (id === 'gone' && index === 1) return undefined;
    return true;
  });
  const shown = await sendInPieces(sending(minions, path), tree(path));
  expect(minions.sent.map(({ tgt }) => tgt)).toEqual(['*', ['good', 'gone'], ['good']]);
  expect(shown).toEqual(
    mapOf({
      good: mapOf({ '/to/file': true }),
      full: mapOf({ '/to/file': 'No space left on device' }),
      gone: mapOf({ '/to/file': 'Minion did not return. File partially transferred.' }),
    }),
  );
  expect(told).toContain('No return from gone');
});

test('a target without minions is said for each file, whole or in pieces', async () => {
  const path = fileOf(2500);
  const line = 'No minions matched the target. No command was sent, no jid was assigned.\n';
  printed.length = 0;
  expect(await sendInPieces(sending(new Minions([]), path), tree(path))).toEqual(mapOf({}));
  expect(printed).toEqual([line]);
  expect(await sendWhole(sending(new Minions([]), path), mapOf({}))).toEqual(mapOf({}));
  expect(printed).toEqual([line, line]);
});

test('where no minion returns, the text names the size of the pieces', async () => {
  const path = fileOf(10);
  const shown = await sendInPieces(sending(new Minions(['m'], () => undefined), path), tree(path));
  expect(shown).toEqual(
    mapOf({
      m: mapOf({
        '/to/file':
          'Publish failed. It may be necessary to decrease salt_cp_chunk_size ' +
          '(current value: 1000)',
      }),
    }),
  );
});

test('an empty directory is made by a piece that is none', async () => {
  const minions = new Minions(['m']);
  const asked = sending(minions, DIR);
  const shown = await sendInPieces(asked, { files: [], emptyDirs: [DIR] });
  const name = DIR.slice(DIR.lastIndexOf('/') + 1);
  expect(shown).toEqual(mapOf({ m: mapOf({ [`/to/file/${name}`]: true }) }));
});

test('without -C all files are one job, and silent minions are left out', async () => {
  const minions = new Minions(['m1', 'm2'], (id) =>
    id === 'm1' ? mapOf({ '/to/file': true }) : undefined,
  );
  const shown = await sendWhole(sending(minions, DIR), mapOf({ '/x/file': 'text' }));
  expect(shown).toEqual(mapOf({ m1: mapOf({ '/to/file': true }) }));
  expect(minions.sent).toHaveLength(1);
});

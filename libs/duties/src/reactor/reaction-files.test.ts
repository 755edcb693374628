import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FileServer } from '@brine/fileserver';
import { MasterUnavailableError } from '@brine/master';
import { OutageError } from '@brine/reactor';
import type { ThreadedSls } from '@brine/rendering';
import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ReactionFiles } from './reaction-files.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-reaction-'));
  mkdirSync(join(dir, 'react', 'folder.sls'), { recursive: true });
  for (const name of ['b.sls', 'a.sls', '.hidden.sls', 'other.txt']) {
    writeFileSync(join(dir, 'react', name), `of ${name}`);
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const SERVED: Readonly<Record<string, string>> = {
  'base react/served.sls': 'served',
  'other react/served.sls': 'of another environment',
  'base macros.jinja': 'macros',
};

/** Files of a file server in memory, and renders that read what a test asks for. */
function scene(reads: readonly string[] = [], answer: SaltMap = mapOf({ value: 1 })) {
  const asked: SaltMap[] = [];
  const read: (string | undefined)[] = [];
  const files = {
    find: async (path: string, env: string) => {
      const [rel = '', query] = path.split('?saltenv=');
      return SERVED[`${query ?? env} ${rel}`] === undefined ? undefined : { rel };
    },
    serve: async ({ saltenv, path, loc }: { saltenv: string; path: string; loc: number }) => {
      const text = SERVED[`${saltenv} ${path}`];
      return { data: Buffer.from(text ?? '').subarray(loc), dest: text === undefined ? '' : path };
    },
  } as unknown as FileServer;
  const made = new ReactionFiles({
    files,
    pushedDir: join(dir, 'minions'),
    threads: {
      ask: async (map: SaltMap, needs: Parameters<ThreadedSls['ask']>[1]) => {
        asked.push(map);
        const env = textOf(map, 'saltenv') ?? '';
        for (const path of [textOf(map, 'path') ?? '', ...reads]) {
          const piece = await needs.piece(env, path, 0);
          read.push(piece && Buffer.from(piece).toString());
          if (piece === undefined) continue;
          expect(await needs.piece(env, path, piece.length)).toHaveLength(0);
        }
        return answer;
      },
    },
    id: () => 'm_master',
    grains: async (id) => mapOf({ id }),
    runner: async () => null,
  });
  return { made, asked, read };
}

test('a path is a file of the host, a glob its files by name', async () => {
  const { made } = scene();
  const react = join(dir, 'react');
  expect(await made.find(join(react, 'a.sls'))).toEqual([{ path: join(react, 'a.sls') }]);
  expect(await made.find(join(react, '*.sls'))).toEqual([
    { path: join(react, 'a.sls') },
    { path: join(react, 'b.sls') },
  ]);
  expect(await made.find(join(react, 'none.sls'))).toEqual([]);
  expect(await made.find(join(react, 'folder.sls'))).toEqual([]);
});

test('what a minion pushed is no file of a reaction, by whatever path', async () => {
  const { made } = scene();
  const pushed = join(dir, 'minions', 'web1', 'files', 'a.sls');
  mkdirSync(dirname(pushed), { recursive: true });
  writeFileSync(pushed, 'pushed');
  symlinkSync(pushed, join(dir, 'react', 'link.sls'));
  for (const path of [pushed, join(dir, 'minions', '*', 'files', '*'), join(dir, 'react', 'l*')]) {
    await expect(made.find(path)).rejects.toThrow('pushed by a minion');
  }
  rmSync(join(dir, 'react', 'link.sls'));
});

test('salt:// is a file of the file server, of an environment where it names one', async () => {
  const { made } = scene();
  expect(await made.find('salt://react/served.sls')).toEqual([
    { path: 'react/served.sls', saltenv: 'base' },
  ]);
  expect(await made.find('salt://react/served.sls?saltenv=other')).toEqual([
    { path: 'react/served.sls', saltenv: 'other' },
  ]);
  expect(await made.find('salt://react/none.sls')).toEqual([]);
});

test('a file is rendered with tag and data, for the minion of the master', async () => {
  const { made, asked, read } = scene(['macros.jinja']);
  const names = mapOf({ tag: 'my/event', data: mapOf({ a: 1 }) });
  const path = join(dir, 'react', 'a.sls');
  expect(await made.render({ path }, names)).toBe(1);
  expect(asked[0]).toEqual(
    mapOf({
      id: 'm_master',
      grains: mapOf({ id: 'm_master' }),
      saltenv: 'base',
      path,
      sls: '',
      override: mapOf({}),
      pillar: mapOf({}),
      defaults: names,
    }),
  );
  expect(read).toEqual(['of a.sls', 'macros']);
});

test('a file includes nothing of the host but itself', async () => {
  const other = join(dir, 'react', 'b.sls');
  const own = scene([other]);
  await own.made.render({ path: join(dir, 'react', 'a.sls') }, mapOf({}));
  expect(own.read).toEqual(['of a.sls', undefined]);
  const served = scene([other, join(dir, 'react', 'a.sls')]);
  await served.made.render({ path: 'react/served.sls', saltenv: 'base' }, mapOf({}));
  expect(served.read).toEqual(['served', undefined, undefined]);
});

test('what is wrong in a file is an error, and too many renders are an outage', async () => {
  const path = join(dir, 'react', 'a.sls');
  const { made } = scene([], mapOf({ error: 'Jinja: line 1', kind: 'RenderError' }));
  await expect(made.render({ path }, mapOf({}))).rejects.toThrow('Jinja: line 1');
  const busy = new ReactionFiles({
    files: {} as FileServer,
    pushedDir: join(dir, 'minions'),
    threads: { ask: () => Promise.reject(new MasterUnavailableError('too many renders wait')) },
    id: () => 'm_master',
    grains: async () => mapOf({}),
    runner: async () => null,
  });
  await expect(busy.render({ path }, mapOf({}))).rejects.toThrow(OutageError);
});

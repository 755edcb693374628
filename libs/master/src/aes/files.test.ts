import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import type { MasterPorts } from '../ports/ports.ts';
import type { Files, ServedFile } from '../ports/served-ports.ts';
import {
  fileEnvs,
  fileHash,
  findFile,
  hashAndStat,
  listOf,
  serveFile,
  symlinkList,
} from './files.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const there: ServedFile = { path: '/srv/a', rel: 'a', back: 'roots', stat: [33188, 1] };

function portsWith(files: Partial<Files>): MasterPorts {
  const { ports } = memoryMaster({ masterKey: PrivateKey.parse(auth.master_key.pem) });
  return { ...ports, files: { ...ports.files, ...files } };
}

const load = (entries: Readonly<Record<string, SaltValue>>): SaltMap => mapOf(entries);

test('a piece answers with its data, its path and its compression', async () => {
  const asked: unknown[] = [];
  const ports = portsWith({
    serve: (request) => {
      asked.push(request);
      return Promise.resolve({ data: Buffer.from('xy'), dest: 'a', gzip: 3 });
    },
  });
  const reply = await serveFile(ports, load({ path: 'a', saltenv: 5, loc: 7, gzip: 3 }));
  expect(reply).toEqual(mapOf({ data: Buffer.from('xy'), dest: 'a', gzip: 3 }));
  expect(asked).toEqual([{ path: 'a', saltenv: '5', loc: 7, gzip: 3 }]);
});

test('a file that is missing or not named is answered in the form of each command', async () => {
  const ports = portsWith({});
  const path = load({ path: 'a', saltenv: 'base', loc: 0 });
  expect(await serveFile(ports, path)).toEqual(mapOf({ data: '', dest: '' }));
  expect(await serveFile(ports, load({ path: 'a', loc: 0 }))).toEqual(
    mapOf({ data: '', dest: '' }),
  );
  expect(await findFile(ports, path)).toEqual(mapOf({ path: '', rel: '' }));
  expect(await findFile(ports, load({ path: ['a'], saltenv: 'base' }))).toEqual(
    mapOf({ path: '', rel: '' }),
  );
  expect(await fileHash(ports, path)).toBe('');
  expect(await fileHash(ports, load({ path: 7, saltenv: 'base' }))).toBe('');
  expect(await hashAndStat(ports, path)).toEqual(['', null]);
  expect(await listOf('files')(ports, load({}))).toEqual([]);
  expect(await symlinkList(ports, load({}))).toEqual(new Map());
});

test.each([
  ['an offset before the start', { path: 'a', saltenv: 'base', loc: -1 }],
  ['an offset that is no number', { path: 'a', saltenv: 'base', loc: 'x' }],
  ['a path that is a list', { path: ['a'], saltenv: 'base', loc: 0 }],
])('%s is a malformed request', async (_what, fields) => {
  await expect(serveFile(portsWith({}), load(fields))).rejects.toThrow(/_serve_file/);
});

test('a file is found with its stat, and hashed', async () => {
  const hash = { hashType: 'sha256', hsum: 'ab' };
  const ports = portsWith({
    find: () => Promise.resolve(there),
    hash: (path) => Promise.resolve({ found: there, hash: path === 'a' ? hash : undefined }),
  });
  const path = load({ path: 'a', saltenv: 'base' });
  expect(await findFile(ports, path)).toEqual(
    mapOf({ path: '/srv/a', rel: 'a', back: 'roots', stat: [33188, 1] }),
  );
  const sum = mapOf({ hash_type: 'sha256', hsum: 'ab' });
  expect(await fileHash(ports, path)).toEqual(sum);
  expect(await hashAndStat(ports, path)).toEqual([sum, [33188, 1]]);
  expect(await fileHash(ports, load({ path: 'gone', saltenv: 'base' }))).toEqual(new Map());
});

test('lists are cut to a prefix, and of the backends that were named', async () => {
  const asked: unknown[] = [];
  const ports = portsWith({
    lists: (saltenv, back) => {
      asked.push([saltenv, back]);
      const links = new Map([
        ['a/l', 'x'],
        ['b', 'y'],
      ]);
      return Promise.resolve({ files: ['a/b', 'ab', 'b'], dirs: ['a'], emptyDirs: [], links });
    },
    envs: (back) => {
      asked.push(back);
      return Promise.resolve(new Map(Object.entries({ roots: ['dev', 'base'], gitfs: ['base'] })));
    },
  });
  expect(await listOf('files')(ports, load({ saltenv: 'base', prefix: '/a/' }))).toEqual([
    'a/b',
    'ab',
  ]);
  expect(await listOf('dirs')(ports, load({ saltenv: 'base', fsbackend: 'roots,git' }))).toEqual([
    'a',
  ]);
  expect(
    await symlinkList(ports, load({ saltenv: 'base', prefix: 'a', fsbackend: ['-git'] })),
  ).toEqual(new Map([['a/l', 'x']]));
  expect(await fileEnvs(ports, load({}))).toEqual(['base', 'dev']);
  expect(await fileEnvs(ports, load({ back: 'roots', sources: true }))).toEqual(
    mapOf({ roots: ['dev', 'base'], gitfs: ['base'] }),
  );
  expect(asked).toEqual([
    ['base', undefined],
    ['base', ['roots', 'git']],
    ['base', ['-git']],
    undefined,
    ['roots'],
  ]);
});

import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileServer } from './file-server.ts';
import { compileIgnored } from './ignore.ts';
import { RootsBackend, type RootsOptions } from './roots.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-files-'));
  await mkdir(join(dir, 'base'));
  await writeFile(join(dir, 'secret'), 'not yours');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function put(path: string, content: string | Buffer = path): Promise<void> {
  await mkdir(join(dir, path, '..'), { recursive: true });
  await writeFile(join(dir, path), content);
}

function server(options: Partial<RootsOptions> = {}, pieceBytes = 1000): FileServer {
  const roots = new RootsBackend({
    fileRoots: { base: [join(dir, 'base')] },
    followSymlinks: true,
    ignoreSymlinks: false,
    ignored: compileIgnored([], []),
    listCacheMs: 20_000,
    onTooLarge: () => undefined,
    ...options,
  });
  return new FileServer({ backends: [roots], hashType: 'sha256', pieceBytes });
}

async function fetchAll(files: FileServer, path: string, saltenv = 'base'): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let loc = 0; ;) {
    const { data } = await files.serve({ path, saltenv, loc });
    if (data.length === 0) return Buffer.concat(pieces);
    pieces.push(data);
    loc += data.length;
  }
}

test('a file comes in pieces, its end is an empty piece that names it', async () => {
  const content = Buffer.from('0123456789'.repeat(251));
  await put('base/a/b.txt', content);
  const files = server();
  expect(await fetchAll(files, 'a/b.txt')).toEqual(content);
  expect(await fetchAll(files, './a//b.txt')).toEqual(content);
  const end = await files.serve({ path: 'a/b.txt', saltenv: 'base', loc: 1_000_000 });
  expect(end).toEqual({ data: Buffer.alloc(0), dest: 'a/b.txt' });
});

test('a piece is compressed where that is asked for, and marked', async () => {
  await put('base/a', 'x'.repeat(900));
  const piece = await server().serve({ path: 'a', saltenv: 'base', loc: 0, gzip: 5 });
  expect(piece.gzip).toBe(5);
  expect(piece.data.length).toBeLessThan(100);
  expect(gunzipSync(piece.data).toString()).toBe('x'.repeat(900));
});

test.each([
  '../secret',
  'a/../../secret',
  'a/../../../../../../etc/passwd',
  '..',
  'a/..',
  '/etc/passwd',
  '|/etc/passwd',
  '|../secret',
  'a\0b',
  'a/\0',
  '.',
  '',
  'a',
  './../secret?saltenv=base',
  '../secret?index=0',
  'a/b/',
])('CVE-2024-22232: %j is not found: it leads out, or is no file', async (path) => {
  await put('base/a/c');
  const files = server();
  expect(await files.find(path, 'base')).toBeUndefined();
  expect(await files.hash(path, 'base')).toBeUndefined();
  const piece = await files.serve({ path, saltenv: 'base', loc: 0 });
  expect(piece).toEqual({ data: new Uint8Array(0), dest: '' });
});

test.each(['../base', '..', '/etc', '', 'a/../../secret', 'a\0', '.', 'nope', '__proto__'])(
  'CVE-2025-22240: the environment %j has no files, though any environment is served',
  async (saltenv) => {
    await put('base/a');
    await put('envs/dev/a', 'dev');
    const files = server({ fileRoots: { __env__: [join(dir, 'envs', '__env__')] } });
    expect((await fetchAll(files, 'a', 'dev')).toString()).toBe('dev');
    expect((await fetchAll(files, 'a?saltenv=dev', 'dev')).toString()).toBe('dev');
    expect(await files.find('a', saltenv)).toBeUndefined();
    expect((await files.lists(saltenv)).files).toEqual([]);
    expect(await files.envs()).toEqual(new Map([['roots', ['__env__']]]));
  },
);

test('a link out of the root is served or not by fileserver_followsymlinks', async () => {
  await put('base/inside');
  await symlink(join(dir, 'secret'), join(dir, 'base/out'));
  await symlink('inside', join(dir, 'base/in'));
  await mkdir(join(dir, 'elsewhere'));
  await put('elsewhere/x');
  await symlink('../elsewhere', join(dir, 'base/dir'));
  const follows = server();
  expect((await fetchAll(follows, 'out')).toString()).toBe('not yours');
  expect((await fetchAll(follows, 'dir/x')).toString()).toBe('elsewhere/x');
  expect((await follows.lists('base')).files).toEqual(['dir/x', 'in', 'inside', 'out']);
  const stays = server({ followSymlinks: false });
  expect((await fetchAll(stays, 'in')).toString()).toBe('base/inside');
  expect(await stays.find('out', 'base')).toBeUndefined();
  expect(await stays.find('dir/x', 'base')).toBeUndefined();
  expect((await stays.lists('base')).files).toEqual(['in', 'inside', 'out']);
  const blind = server({ ignoreSymlinks: true, followSymlinks: false });
  expect((await blind.lists('base')).files).toEqual(['inside']);
});

test('a directory that links to itself is listed once', async () => {
  await put('base/a/f');
  await symlink('..', join(dir, 'base/a/up'));
  const { files, dirs } = await server().lists('base');
  expect(files).toEqual(['a/f']);
  expect(dirs).toEqual(['a', 'a/up']);
});

test('the first root that has a file serves it, and lists are of all roots', async () => {
  await put('one/same', '1');
  await put('two/same', '2');
  await put('two/other', '2');
  await mkdir(join(dir, 'two/empty'));
  const fileRoots = { base: [join(dir, 'one'), join(dir, 'two')], dev: [join(dir, 'two')] };
  const files = server({ fileRoots });
  expect((await fetchAll(files, 'same')).toString()).toBe('1');
  expect((await fetchAll(files, 'same', 'dev')).toString()).toBe('2');
  expect((await fetchAll(files, 'same?index=1')).toString()).toBe('2');
  const lists = await files.lists('base');
  expect(lists).toEqual({
    files: ['other', 'same'],
    dirs: ['empty'],
    emptyDirs: ['empty'],
    links: new Map(),
  });
  expect((await files.lists('base', ['-roots'])).files).toEqual([]);
  expect((await files.lists('base', ['nope'])).files).toEqual([]);
});

test('ignored paths are neither listed nor served', async () => {
  await put('base/.svn/x');
  await put('base/a.swp');
  await put('base/a');
  const files = server({ ignored: compileIgnored(['/\\.svn($|/)', '(?i)^\\.SVN/'], ['*.swp']) });
  expect((await files.lists('base')).files).toEqual(['a']);
  expect(await files.find('a.swp', 'base')).toBeUndefined();
  expect(await files.find('.svn/x', 'base')).toBeUndefined();
});

test('a hash is read once and again when the file changed', async () => {
  const old = new Date(Date.now() - 60_000);
  const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
  await put('base/a', 'one');
  await utimes(join(dir, 'base/a'), old, old);
  const files = server();
  expect((await files.hash('a', 'base'))?.hash).toEqual({ hashType: 'sha256', hsum: sha('one') });
  // Same size and mtime, other inode: what an rsync of an edited file may leave.
  await put('base/b', 'two');
  await utimes(join(dir, 'base/b'), old, old);
  await rename(join(dir, 'base/b'), join(dir, 'base/a'));
  expect((await files.hash('a', 'base'))?.hash?.hsum).toBe(sha('two'));
  await put('base/a', 'six');
  expect((await files.hash('a', 'base'))?.hash?.hsum).toBe(sha('six'));
  await put('base/a', 'ten');
  expect((await files.hash('a', 'base'))?.hash?.hsum).toBe(sha('ten'));
});

test('a list shows files that were added, removed and renamed since', async () => {
  await put('base/a/b/c');
  const files = server();
  const list = async (): Promise<readonly string[]> => {
    // Lists of one moment are one list.
    await expect.poll(() => performance.now() > next).toBe(true);
    next = performance.now() + 250;
    return (await files.lists('base')).files;
  };
  let next = 0;
  expect(await list()).toEqual(['a/b/c']);
  await put('base/a/b/d');
  expect(await list()).toEqual(['a/b/c', 'a/b/d']);
  await rename(join(dir, 'base/a/b'), join(dir, 'base/a/B'));
  expect(await list()).toEqual(['a/B/c', 'a/B/d']);
  await rm(join(dir, 'base/a/B/c'));
  expect(await list()).toEqual(['a/B/d']);
});

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  asOwnerOf,
  asOwnerOfNow,
  eachAsOwnerOf,
  isRootsOwn,
  OthersPathError,
  startAsOwner,
} from './as-owner.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'as-owner-'));
  chmodSync(dir, 0o755);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function make(path: string, uid = 0, mode = 0o755): string {
  const at = join(dir, path);
  mkdirSync(at);
  chmodSync(at, mode);
  chownSync(at, uid, uid);
  return at;
}

function secret(path = 'secret'): string {
  writeFileSync(join(dir, path), 'of root', { mode: 0o600 });
  return join(dir, path);
}

/** Whom a path makes root work as. */
const uidIn = (path: string): Promise<number | undefined> =>
  asOwnerOf(path, () => Promise.resolve(process.geteuid?.()));

describe('root', () => {
  beforeEach((context) => {
    if (!isRoot) context.skip('only root works as others');
  });

  test('works as the first on the way that is not root, with the groups of that user', async () => {
    const tree = make('tree', NOBODY);
    make('tree/of-root');
    make('tree/of-root/below', 1234);
    const seen = await asOwnerOf(join(tree, 'of-root/below'), () =>
      Promise.resolve([process.geteuid?.(), process.getegid?.(), process.getgroups?.()]),
    );
    expect(seen).toEqual([NOBODY, NOBODY, [NOBODY]]);
    expect([process.geteuid?.(), process.getegid?.()]).toEqual([0, 0]);
  });

  test('has no group of root in a directory whose group is root', async () => {
    const tree = make('tree', NOBODY);
    chownSync(tree, NOBODY, 0);
    writeFileSync(join(dir, 'for-root'), 'x', { mode: 0o640 });
    symlinkSync(join(dir, 'for-root'), join(tree, 'link'));
    await expect(asOwnerOf(tree, () => readFile(join(tree, 'link')))).rejects.toThrow('EACCES');
  });

  test('a user that this host does not know has no groups', async () => {
    const tree = make('tree', 43_210);
    const groups = await asOwnerOf(tree, () =>
      Promise.resolve([process.getegid?.(), process.getgroups?.()]),
    );
    expect(groups).toEqual([NOBODY, [NOBODY]]);
  });

  test('stays root where root alone may change the way', async () => {
    make('tree');
    expect(await uidIn(join(dir, 'tree'))).toBe(0);
    expect(await uidIn(join(dir, 'tree/not/there'))).toBe(0);
    expect(isRootsOwn(join(dir, 'tree'))).toBe(true);
  });

  test('follows links of root to where they lead, relative ones too', async () => {
    make('srv');
    make('srv/tree', NOBODY);
    symlinkSync(join(dir, 'srv/tree'), join(dir, 'absolute'));
    make('etc');
    symlinkSync('../srv/./tree', join(dir, 'etc/relative'));
    symlinkSync('absolute', join(dir, 'twice'));
    for (const name of ['absolute', 'etc/relative', 'twice']) {
      expect(await uidIn(join(dir, name)), name).toBe(NOBODY);
      expect(isRootsOwn(join(dir, name))).toBe(false);
    }
  });

  test('of several paths the one that is not root decides, and two users are refused', async () => {
    const own = make('own');
    make('own/below', NOBODY);
    make('own/other', 1);
    const uid = (...paths: string[]): Promise<number | undefined> =>
      asOwnerOf(paths, () => Promise.resolve(process.geteuid?.()));
    expect(await uid(own, join(own, 'below'), join(own, 'none'))).toBe(NOBODY);
    await expect(uid(own, join(own, 'below'), join(own, 'other'))).rejects.toThrow(
      `${own}/below belongs to user ${NOBODY} and ${own}/other to user 1`,
    );
  });

  test('what stands in a directory of root alone, root has put there', async () => {
    make('srv', 0, 0o700);
    writeFileSync(join(dir, 'srv/file'), 'of a user');
    chownSync(join(dir, 'srv/file'), NOBODY, NOBODY);
    symlinkSync(join(dir, 'srv'), join(dir, 'link'));
    lchownSync(join(dir, 'link'), NOBODY, NOBODY);
    expect(await uidIn(join(dir, 'link/file'))).toBe(0);
  });

  test('where everybody may put a link, it is followed as its owner', async () => {
    make('closed', 0, 0o700);
    const open = make('open', 0, 0o1777);
    symlinkSync(join(dir, 'closed'), join(open, 'link'));
    lchownSync(join(open, 'link'), NOBODY, NOBODY);
    expect(await uidIn(join(open, 'link'))).toBe(NOBODY);
    await expect(uidIn(join(open, 'link/file'))).rejects.toThrow(
      `${open}/link belongs to user ${NOBODY}`,
    );
  });

  test('links without an end are told', async () => {
    symlinkSync('b', join(dir, 'a'));
    symlinkSync('a', join(dir, 'b'));
    await expect(uidIn(join(dir, 'a'))).rejects.toThrow(`${dir}/a: too many links`);
  });

  test.each([
    [0o777, 0, 'everybody may write', 'chmod o-w'],
    [0o770, 4321, 'the group 4321 may write', 'chmod g-w'],
    [0o1777, 0, 'everybody may write', 'make '],
  ])('a directory of mode %o and group %i is refused by name', async (mode, gid, who, advice) => {
    const open = make('open');
    chownSync(open, 0, gid);
    chmodSync(open, mode);
    const error: unknown = await uidIn(join(open, 'new')).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(OthersPathError);
    expect((error as Error).message).toContain(`${open} belongs to root and ${who}`);
    expect((error as Error).message).toContain(advice);
  });

  test('what root has in a sticky directory, and the group of root, are trusted', async () => {
    make('sticky', 0, 0o1777);
    make('sticky/tree');
    make('of-group', 0, 0o770);
    expect(await uidIn(join(dir, 'sticky/tree'))).toBe(0);
    expect(await uidIn(join(dir, 'of-group'))).toBe(0);
  });

  test('a directory that its user may not enter is no empty one', async () => {
    make('tree', NOBODY);
    make('tree/closed', 0, 0o700);
    await expect(uidIn(join(dir, 'tree/closed'))).rejects.toThrow(
      `${dir}/tree belongs to user ${NOBODY}; root goes there only as that user`,
    );
  });

  test('whatever is swapped while it works, it reads nothing of root', async () => {
    const tree = make('tree', NOBODY);
    writeFileSync(join(tree, 'file'), 'of nobody');
    const outside = secret();
    const work = asOwnerOf(tree, async () => {
      await Promise.resolve();
      rmSync(join(tree, 'file'));
      symlinkSync(outside, join(tree, 'file'));
      return readFile(join(tree, 'file'), 'utf8');
    });
    await expect(work).rejects.toThrow('EACCES');
  });

  test('work within work is that of its own path, and then of the outer one again', async () => {
    const [tree, own] = [make('tree', NOBODY), make('own')];
    const seen = await asOwnerOf(tree, async () => [
      await uidIn(own),
      process.geteuid?.(),
      asOwnerOfNow(own, () => process.geteuid?.()),
      process.geteuid?.(),
    ]);
    expect(seen).toEqual([0, NOBODY, 0, NOBODY]);
    expect(process.geteuid?.()).toBe(0);
  });

  test('it is root again after a failure', async () => {
    const tree = make('tree', NOBODY);
    await expect(asOwnerOf(tree, () => Promise.reject(new Error('x')))).rejects.toThrow('x');
    expect(process.geteuid?.()).toBe(0);
  });

  test('work that is not within other work waits for it: it would be done as its owner', async () => {
    const [one, two, own] = [make('one', NOBODY), make('two', 1), make('own')];
    const order: string[] = [];
    const work = (path: string) =>
      asOwnerOf(path, async () => {
        order.push(`${process.geteuid?.()}`);
        await readFile('/etc/passwd');
        order.push(`${process.geteuid?.()}`);
      });
    await Promise.all([work(one), work(two), work(own), work(one)]);
    const twice = (uid: number): string[] => [`${uid}`, `${uid}`];
    expect(order).toEqual([NOBODY, 1, 0, NOBODY].flatMap(twice));
    expect(process.geteuid?.()).toBe(0);
  });

  test('what takes the values of a source is root', async () => {
    const tree = make('tree', NOBODY);
    const source = async function* (): AsyncGenerator<number | undefined> {
      yield await Promise.resolve(process.geteuid?.());
    };
    for await (const uid of eachAsOwnerOf(tree, source())) {
      expect([uid, process.geteuid?.()]).toEqual([NOBODY, 0]);
    }
  });

  test('a shell that is started there can not become root again', async () => {
    const tree = make('tree', NOBODY);
    const ids = await asOwnerOf(tree, () =>
      Promise.resolve(
        startAsOwner((as) =>
          spawnSync('/bin/sh', ['-c', 'grep -E "^(U|G)id|^Groups" /proc/self/status'], {
            ...as,
            encoding: 'utf8',
          }),
        ),
      ),
    );
    const four = Array.from({ length: 4 }, () => NOBODY).join('\t');
    expect(ids.stdout).toContain(`Uid:\t${four}\nGid:\t${four}\nGroups:\t`);
    expect(process.geteuid?.()).toBe(0);
  });
});

test('nobody but root becomes another user', async () => {
  const tree = make('tree', isRoot ? NOBODY : (process.getuid?.() ?? -1));
  const uid = isRoot ? 1 : (process.geteuid?.() ?? -1);
  // Root without its rights, as in a program that has given them up.
  if (isRoot) process.seteuid?.(uid);
  try {
    expect(await uidIn(tree)).toBe(uid);
    expect(isRootsOwn(tree)).toBe(false);
    expect(startAsOwner((as) => as)).toEqual({});
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test('what is read at once is read', () => {
  const file = secret();
  expect(asOwnerOfNow(file, () => readFileSync(file, 'utf8'))).toBe('of root');
});

import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileIgnored } from './ignore.ts';
import { RootsChanges } from './roots-changes.ts';

const EVERY_MS = 60_000;

let dir: string;
let root: string;
let nowMs: number;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-roots-'));
  root = join(dir, 'srv');
  await mkdir(join(root, 'a'), { recursive: true });
  nowMs = Date.now();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A worker of this host; all of them share the map. */
function worker(): RootsChanges {
  return new RootsChanges({
    fileRoots: { base: [root] },
    ignored: compileIgnored([], ['*.swp']),
    mapPath: join(dir, 'cache', 'roots', 'mtime_map'),
    everyMs: EVERY_MS,
    onTooMany: () => undefined,
  });
}

const later = (): number => (nowMs += EVERY_MS);

test('each added, changed and removed file is reported once, whichever worker looks', async () => {
  await writeFile(join(root, 'top.sls'), '1');
  await writeFile(join(root, 'a', 'init.sls'), '1');
  await writeFile(join(root, 'a', '.x.swp'), '1');
  await symlink('/nowhere', join(root, 'broken'));
  const [one, two] = [worker(), worker()];
  const added = [join(root, 'top.sls'), join(root, 'a', 'init.sls')];
  const first = await one.look(nowMs);
  expect([...(first?.added ?? [])].sort()).toEqual([...added].sort());
  expect([first?.changed, first?.removed]).toEqual([[], []]);
  expect(await two.look(nowMs)).toBe(undefined);
  expect(await two.look(later())).toBe(undefined);
  await writeFile(join(root, 'new.sls'), '1');
  await utimes(join(root, 'top.sls'), 1, 1_000_000);
  await rm(join(root, 'a', 'init.sls'));
  expect(await two.look(later())).toEqual({
    added: [join(root, 'new.sls')],
    changed: [join(root, 'top.sls')],
    removed: [join(root, 'a', 'init.sls')],
  });
  expect(await one.look(later())).toBe(undefined);
});

test('the map of a stock master is read, so a move makes no file new', async () => {
  const path = join(root, 'top.sls');
  await writeFile(path, '1');
  await utimes(path, 1, 1_795_195_208.1969);
  await mkdir(join(dir, 'cache', 'roots'), { recursive: true });
  const map = join(dir, 'cache', 'roots', 'mtime_map');
  // As Python writes the time.
  await writeFile(map, `${path}:1795195208.1969\nnonsense\n`);
  await utimes(map, 1, 1_000);
  expect(await worker().look(nowMs)).toBe(undefined);
});

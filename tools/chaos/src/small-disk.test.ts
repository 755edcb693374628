import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SmallDisk } from './small-disk.ts';

const MIB = 1_048_576;

test('a disk is full on demand, has room again, and leaves what was on it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'brine-disk-'));
  const path = join(dir, 'small');
  try {
    const disk = await SmallDisk.mount(path, 16 * MIB);
    if (disk === undefined) {
      // Only root may mount, and not in every container: then nothing is there.
      expect(await stat(path).catch(() => undefined)).toSatisfy(
        (found) => found === undefined || process.getuid?.() === 0,
      );
      return;
    }
    await writeFile(join(path, 'a'), Buffer.alloc(MIB));
    await disk.fill();
    await expect(writeFile(join(path, 'b'), Buffer.alloc(MIB))).rejects.toMatchObject({
      code: 'ENOSPC',
    });
    await disk.empty();
    await writeFile(join(path, 'b'), Buffer.alloc(MIB, 1));
    await disk.unmount(true);
    await disk.unmount(true);
    expect((await readFile(join(path, 'b'))).equals(Buffer.alloc(MIB, 1))).toBe(true);
    expect((await stat(path)).dev).toBe((await stat(dir)).dev);
  } finally {
    await rm(dir, { recursive: true });
  }
});

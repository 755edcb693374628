// Makes the archive for systems without Debian packages.
import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { copyrightText } from './copyright.ts';
import { settle } from './debian.ts';
import type { ProgramTree } from './program-tree.ts';
import { type Release, runStep, sharedFiles } from './release.ts';

/** Options for making an archive. */
export interface ArchiveOptions {
  readonly release: Release;
  /** Made only for this: it is moved into the archive. */
  readonly tree: ProgramTree;
  /** An empty directory on the same disk as the tree. */
  readonly work: string;
  readonly out: string;
  /** Compress fast rather than well: for tests. */
  readonly fast: boolean;
}

/** Makes `brine-<version>-<platform>.tar.gz`: one directory that runs at any path. */
export async function makeArchive(options: ArchiveOptions): Promise<string> {
  const { release, tree, work, out, fast } = options;
  const name = `brine-${release.version}-${process.platform}-${process.arch}`;
  const dir = join(work, name);
  await rename(tree.dir, dir);
  for (const { path, text } of await sharedFiles(release)) {
    await mkdir(dirname(join(dir, 'share', path)), { recursive: true });
    await writeFile(join(dir, 'share', path), text);
  }
  for (const [from, to] of [
    ['packaging/etc/master', 'examples/master'],
    ['packaging/etc/minion', 'examples/minion'],
    ['packaging/etc/default', 'examples/default'],
    ['packaging/systemd/brine-master.service', 'examples/brine-master.service'],
    ['packaging/systemd/brine-minion.service', 'examples/brine-minion.service'],
    ['LICENSE', 'LICENSE'],
    ['CHANGELOG.md', 'CHANGELOG.md'],
  ] as const) {
    await mkdir(dirname(join(dir, to)), { recursive: true });
    await copyFile(join(release.root, from), join(dir, to));
  }
  await copyFile(tree.node.licence, join(dir, 'LICENSE.node'));
  await writeFile(join(dir, 'COPYRIGHT'), copyrightText(tree, '.'));
  await settle(dir, release.epoch);
  const file = join(out, `${name}.tar.gz`);
  await runStep('tar', [
    ...['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=posix'],
    '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
    ...['-C', work, '-I', fast ? 'gzip -1n' : 'gzip -9n', '-cf', file, name],
  ]);
  return file;
}

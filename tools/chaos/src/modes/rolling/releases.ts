import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lastRelease, linkModules, openCheckout } from '@brine/testing/checkouts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
/** Parts of a checkout that run. */
const PARTS = ['apps', 'libs', 'package.json'];

/**
 * Two releases at one path, as in an upgrade: the directory that the master runs from contains one
 * of them, and is replaced under running services.
 */
export class Releases {
  readonly #dir: string;
  readonly #names: readonly [string, string];
  #installed: 0 | 1 = 0;

  private constructor(dir: string, names: readonly [string, string]) {
    this.#dir = dir;
    this.#names = names;
  }

  /**
   * Copies the requested checkout and this one, and installs the first. `release` is the last one
   * of the history.
   * @throws Error if the commit does not exist or does not build
   */
  static async prepare(asked: string, print: (line: string) => void): Promise<Releases> {
    const commit = asked === 'release' ? await lastRelease(ROOT) : asked;
    const other = await openCheckout(ROOT, commit, print);
    const dir = await mkdtemp(join(tmpdir(), 'brine-releases-'));
    const releases = new Releases(dir, [other.name, 'this checkout']);
    try {
      await copyBuilt(other.dir, releases.#installedDir);
      await copyBuilt(ROOT, releases.#lyingBy(1));
    } catch (error) {
      await releases.remove();
      throw error;
    }
    return releases;
  }

  /** The `brine.mjs` of the installed release. */
  get program(): string {
    return join(this.#installedDir, 'apps', 'cli', 'bin', 'brine.mjs');
  }

  /** Installs the other release; returns its name. Running processes keep their loaded code. */
  async change(): Promise<string> {
    const next = this.#installed === 0 ? 1 : 0;
    await rename(this.#installedDir, this.#lyingBy(this.#installed));
    await rename(this.#lyingBy(next), this.#installedDir);
    this.#installed = next;
    return this.#names[next];
  }

  /** Removes both copies; the checkouts stay. */
  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  get #installedDir(): string {
    return join(this.#dir, 'installed');
  }

  #lyingBy(which: 0 | 1): string {
    return join(this.#dir, `lies-by-${which}`);
  }
}

async function copyBuilt(from: string, to: string): Promise<void> {
  await mkdir(to);
  const filter = (path: string): boolean =>
    !['node_modules', 'src', 'test', 'bench'].includes(basename(path));
  for (const part of PARTS.filter((one) => existsSync(join(from, one)))) {
    await cp(join(from, part), join(to, part), { recursive: true, filter });
  }
  await linkModules(from, to);
}

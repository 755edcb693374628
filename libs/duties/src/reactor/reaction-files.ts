import { realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { readBounded } from '@brine/files';
import { expandRoots, type FileServer } from '@brine/fileserver';
import { MasterUnavailableError } from '@brine/master';
import { OutageError, type ReactionFile } from '@brine/reactor';
import { RENDER_THREADS, type ThreadedSls } from '@brine/rendering';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { RenderGate, TooSlowError } from './render-gate.ts';

export interface ReactionFilesParts {
  readonly files: FileServer;
  readonly threads: Pick<ThreadedSls, 'ask'>;
  /** The directory of files that minions push (Salt: `file_recv`): no file in it is run. */
  readonly pushedDir: string;
  /** Id of the master's own minion. */
  readonly id: () => string;
  readonly grains: (id: string) => Promise<SaltMap>;
  /** Answers `salt['saltutil.runner']` of a template. */
  readonly runner: (fun: string, args: readonly SaltValue[], kwargs: SaltMap) => Promise<SaltValue>;
}

/** Name of the error of a render that exceeded its time. */
const TOO_SLOW = 'AbortError';
const SERVED = 'salt://';
const BASE = 'base';
/** Size limit of one file. */
const FILE_MAX_BYTES = 16 * 1024 * 1024;
/** Limit of files of one item of the list. */
const FOUND_MAX = 1_000;
const NONE = new Uint8Array(0);

/** Finds and renders SLS files of reactions, of this host and of the file server. */
export class ReactionFiles {
  readonly #parts: ReactionFilesParts;
  readonly #gate = new RenderGate(RENDER_THREADS);

  constructor(parts: ReactionFilesParts) {
    this.#parts = parts;
  }

  /**
   * The files of a list item: a path, a glob of paths, or `salt://…?saltenv=…`.
   * @throws Error for a file that a minion pushed
   */
  async find(item: string): Promise<readonly ReactionFile[]> {
    if (item.startsWith(SERVED)) {
      const asked = item.slice(SERVED.length);
      const env = new URLSearchParams(asked.split('?')[1]).get('saltenv') ?? BASE;
      const found = await this.#parts.files.find(asked, env);
      return found === undefined ? [] : [{ path: found.rel, saltenv: env }];
    }
    const paths = (await expandRoots([item])).sort().slice(0, FOUND_MAX);
    const there = await Promise.all(paths.map(isFile));
    await this.#refusePushed(paths.filter((_, at) => there[at]));
    return paths.filter((_, at) => there[at]).map((path) => ({ path }));
  }

  async #refusePushed(paths: readonly string[]): Promise<void> {
    const pushed = await realpath(this.#parts.pushedDir).catch(() => undefined);
    if (pushed === undefined) return;
    for (const path of paths) {
      const real = await realpath(path).catch(() => path);
      if (real.startsWith(`${pushed}${sep}`)) throw new Error(`${path} was pushed by a minion`);
    }
  }

  /** @throws Error with the fault in the file; OutageError if too many renders wait */
  async render(file: ReactionFile, names: SaltMap): Promise<SaltValue> {
    const { grains, threads, runner } = this.#parts;
    const id = this.#parts.id();
    const asked = mapOf({
      id,
      grains: await grains(id),
      saltenv: file.saltenv ?? BASE,
      override: mapOf({}),
      pillar: mapOf({}),
      sls: '',
      path: file.path,
      defaults: names,
    });
    const piece = this.#pieces(file);
    try {
      return await this.#gate.through(`${file.saltenv} ${file.path}`, async () => {
        const answer = await threads.ask(asked, { runner, piece });
        const error = textOf(answer, 'error');
        if (error === undefined) return answer.get('value') ?? null;
        throw textOf(answer, 'kind') === TOO_SLOW ? new TooSlowError(error) : new Error(error);
      });
    } catch (error) {
      if (!(error instanceof MasterUnavailableError)) throw error;
      throw new OutageError(error.message, { cause: error });
    }
  }

  /** The file itself may be on the host; its includes are on the file server. */
  #pieces(file: ReactionFile) {
    return async (saltenv: string, path: string, loc: number): Promise<Uint8Array | undefined> => {
      if (file.saltenv === undefined && path === file.path) {
        return loc > 0 ? NONE : readBounded(path, FILE_MAX_BYTES);
      }
      const { data, dest } = await this.#parts.files.serve({ saltenv, path, loc });
      return dest === '' ? undefined : data;
    };
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

import type { MasterOptions } from '@brine/config';
import type { Autosign } from '@brine/master';
import { readAutosignGrain, readSigningFile, takeAutosignStub } from '@brine/pki';
import { matchGlob, matchPcreWhole } from '@brine/target';
import type { SaltMap } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

/** Time for which the lines of the signing files are cached. */
const REREAD_MS = 1000;

/** Limit of grains of a log-in that are checked; a minion's option lists a handful. */
const GRAINS_MAX = 100;

/** Decides on a waiting key with the signing files of this host. */
export class SigningFiles implements Autosign {
  readonly #options: MasterOptions;
  readonly #lines = new Map<string, { readonly at: number; readonly lines: readonly string[] }>();

  constructor(options: MasterOptions) {
    this.#options = options;
  }

  async decide(id: string, grains?: SaltMap): Promise<'accept' | 'reject' | 'none'> {
    const { autorejectFile, autosignFile, pkiDir, autosignTimeout } = this.#options;
    if (await this.#matches(autorejectFile, id)) return 'reject';
    if (await this.#matches(autosignFile, id)) return 'accept';
    const timeoutMinutes = autosignTimeout;
    if (await takeAutosignStub(pkiDir, id, { timeoutMinutes })) return 'accept';
    return (await this.#knowsGrains(grains)) ? 'accept' : 'none';
  }

  /** Is a grain that the minion sent listed in the file of that grain's name? */
  async #knowsGrains(grains: SaltMap | undefined): Promise<boolean> {
    const { autosignGrainsDir, permissivePkiAccess } = this.#options;
    if (autosignGrainsDir === undefined || grains === undefined) return false;
    for (const [name, value] of [...grains].slice(0, GRAINS_MAX)) {
      if (typeof name !== 'string') continue;
      const lines = await readAutosignGrain(autosignGrainsDir, name, { permissivePkiAccess });
      // Salt compares `str(value)` with the line.
      if (lines?.includes(pyStr(value)) === true) return true;
    }
    return false;
  }

  async #matches(path: string | undefined, id: string): Promise<boolean> {
    if (path === undefined || path === '') return false;
    const lines = await this.#linesOf(path);
    // Salt tries each line as the id itself, as a glob, and as a regex over the whole id
    // (salt/daemons/masterapi.py AutoKey.check_signing_file).
    return lines.some((line) => line === id || matchGlob(line, id) || matchPcreWhole(line, id));
  }

  async #linesOf(path: string): Promise<readonly string[]> {
    const known = this.#lines.get(path);
    const now = performance.now();
    if (known !== undefined && now - known.at < REREAD_MS) return known.lines;
    const { permissivePkiAccess } = this.#options;
    const { lines } = await readSigningFile(path, { permissivePkiAccess });
    this.#lines.set(path, { at: now, lines });
    return lines;
  }
}

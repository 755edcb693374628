import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageBeside } from '../python/site.ts';
import type { Lab } from './lab.ts';
import type { RecordedRelease } from './recorded-cases.ts';

const BRINE = fileURLToPath(new URL('../../../apps/cli/bin/brine.mjs', import.meta.url));
const PROGRAMS = ['salt', 'salt-key', 'salt-run', 'salt-call', 'salt-cp'];

/** The programs that stand under Salt's names: Brine's own, or those of a stock release. */
export interface Tools {
  readonly name: 'brine' | `salt ${RecordedRelease}`;
  /** What `CONF` stands for. */
  readonly config: string;
  /** Added to the environment of its programs. */
  readonly env: Readonly<Record<string, string>>;
  /** The words that start a program. */
  start(program: string): readonly string[];
}

/** Brine's own commands, by links with Salt's names. */
export async function brineTools(lab: Lab): Promise<Tools> {
  const dir = lab.folder('links');
  await mkdir(dir);
  for (const program of PROGRAMS) await symlink(BRINE, join(dir, program));
  return {
    name: 'brine',
    config: lab.master.home.configDir,
    // By default Brine says by its exit code that nothing was done where Salt says 0.
    env: { BRINE_EXIT_CODES: 'stock' },
    start: (program) => [process.execPath, join(dir, program)],
  };
}

/** 3008 asks for it wherever it matches targets; the environments of Salt leave it out. */
const XXHASH = 'xxhash==3.7.0';

/** The real commands of the lab's release, on the host of the Brine master. */
export async function stockTools(lab: Lab): Promise<Tools> {
  return {
    name: `salt ${lab.release}`,
    config: lab.stockConfig,
    env: { PYTHONPATH: await packageBeside(lab.venv, XXHASH) },
    start: (program) => [lab.venv.python, lab.venv.bin(program)],
  };
}

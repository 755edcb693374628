import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type SaltVenv } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { packageBeside } from '@brine/testing/packages';
import type { CaseLab } from './case-lab.ts';
import type { Lab } from './lab.ts';
import type { RecordedLine } from './recorded-cases.ts';

const PROGRAMS = ['salt', 'salt-key', 'salt-run', 'salt-call', 'salt-cp'];

/** The programs that the tests run. */
export type TestedTools = 'brine' | `salt ${RecordedLine}`;

/** The programs that stand under Salt's names: Brine's own, or those of a stock release. */
export interface Tools {
  readonly name: string;
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

/** What programs of Salt find beside it. */
export async function besideSalt(venv: SaltVenv): Promise<Readonly<Record<string, string>>> {
  return { PYTHONPATH: await packageBeside(venv, XXHASH) };
}

/** 3008 asks for it wherever it matches targets; the environments of Salt leave it out. */
const XXHASH = 'xxhash==3.7.0';

/** The real commands of the lab's release, on the host of the Brine master. */
export async function stockTools(lab: CaseLab): Promise<Tools> {
  return {
    name: `salt ${lab.venv.version}`,
    config: lab.stockConfig,
    env: await besideSalt(lab.venv),
    start: (program) => [lab.venv.python, lab.venv.bin(program)],
  };
}

import { readdirSync, readFileSync } from 'node:fs';

/** A bug that is planted to see whether it is found. */
export interface PlantedBug {
  readonly name: string;
  /** What it does, in a sentence. */
  readonly what: string;
  /** `simulation`, or the test file that is to find it: the simulation does not see all. */
  readonly finder: string;
  /** The path of the patch. */
  readonly path: string;
}

/** Bugs of the job's way, and guards against hostile input that are taken out. */
const PATCHES = [new URL('patches/', import.meta.url), new URL('guards/', import.meta.url)];

/** All of them, by name. A patch begins with what it does and who is to find it. */
export function plantedBugs(): readonly PlantedBug[] {
  return PATCHES.flatMap(bugsIn);
}

function bugsIn(folder: URL): readonly PlantedBug[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.patch'));
  return names.sort().map((file) => {
    const { pathname: path } = new URL(file, folder);
    const [what = '', found = ''] = readFileSync(path, 'utf8').split('\n', 2);
    const finder = /^Found by: (\S+)$/.exec(found)?.[1];
    if (what === '' || finder === undefined) throw new Error(`${file} does not say who finds it`);
    return { name: file.replace(/\.patch$/, ''), what, finder, path };
  });
}

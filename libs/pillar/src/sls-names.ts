import type { PillarFiles } from './ports.ts';

/** The file of an SLS name: `a.b` is `a/b.sls`, or `a/b/init.sls`; undefined where neither is. */
export function findSls(files: PillarFiles, saltenv: string, sls: string): string | undefined {
  const path = sls.replaceAll('.', '/');
  const found = [`${path}.sls`, `${path}/init.sls`];
  return found.find((file) => files.read(saltenv, file) !== undefined);
}

/** Names of all SLS files of an environment (Salt: salt/fileclient.py list_states). */
export function slsNames(files: PillarFiles, saltenv: string): string[] {
  return files
    .list(saltenv)
    .filter((path) => path.endsWith('.sls'))
    .map((path) => path.replace(/(?:\/init)?\.sls$/, '').replaceAll('/', '.'));
}

import { compareText } from '@brine/wire/text';
import type { PillarFiles } from './ports.ts';

/**
 * The file of an SLS name: `a.b` is `a/b.sls`, or `a/b/init.sls`; undefined where neither is. What
 * begins with dots or slashes stands at the root as well: the name becomes a `salt://` URL, whose
 * path has no slash in front (Salt: salt/fileclient.py get_state, salt/utils/url.py parse).
 */
export function findSls(files: PillarFiles, saltenv: string, sls: string): string | undefined {
  const path = sls.replaceAll(/[.\\]/g, '/');
  const found = [`${path}.sls`, `${path}/init.sls`].map((file) => file.replace(/^\/+/, ''));
  return found.find((file) => files.read(saltenv, file) !== undefined);
}

/** Names of all SLS files of an environment, sorted (Salt: salt/fileclient.py list_states). */
export function slsNames(files: PillarFiles, saltenv: string): string[] {
  const names = files
    .list(saltenv)
    .filter((path) => path.endsWith('.sls'))
    .map((path) => path.replace(/(?:\/init)?\.sls$/, '').replaceAll('/', '.'));
  return [...new Set(names)].sort(compareText);
}

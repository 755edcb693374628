import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigWarning } from './errors.ts';

/** Kinds of modules that a master uses without an option that names them. */
const KINDS = ['runners', 'wheel', 'renderers'] as const;

/** Loss of modules without an interpreter. */
export const WITHOUT_PYTHON =
  'Brine loads modules in Python only by an interpreter; set brine.python';

/**
 * Kinds of modules in a directory of `extension_modules`, where `salt-run saltutil.sync_*` puts
 * them. A stock master loads them automatically.
 */
export function modulesOnDisk(dir: string): string[] {
  return KINDS.filter((kind) => namesIn(join(dir, kind)).some((name) => name.endsWith('.py')));
}

/**
 * Warns of modules in the default directory that are not loaded. They do not stop a start: Brine's
 * own `saltutil.sync_*` puts them there, and calling one returns an error.
 */
export function unloadedModules(dir: string, file: string): ConfigWarning[] {
  const kinds = modulesOnDisk(dir);
  if (kinds.length === 0) return [];
  const text = `Modules in ${dir} (${kinds.join(', ')}) are not loaded: ${WITHOUT_PYTHON}`;
  return [{ kind: 'unused', text, file, line: 0, option: 'extension_modules' }];
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    // Usually missing. If it can not be read, a stock master would load nothing either.
    return [];
  }
}

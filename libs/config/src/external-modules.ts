import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Kinds of modules that a master uses without an option that names them. */
const KINDS = ['runners', 'wheel', 'renderers'] as const;

/**
 * Which kinds of modules lie in a directory of `extension_modules`, where `salt-run
 * saltutil.sync_*` puts them. A stock master loads them by itself.
 */
export function modulesOnDisk(dir: string): string[] {
  return KINDS.filter((kind) => namesIn(join(dir, kind)).some((name) => name.endsWith('.py')));
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    // Usually there is none. Where it can not be read a stock master would load nothing either.
    return [];
  }
}

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { checkBehaviours } from '../minions/behaviours.ts';
import type { Behaviour } from '../types.ts';

/** A larger file is not a list of behaviours. */
const MAX_BYTES = 1_048_576;

/**
 * Reads a scenario: YAML (or JSON) with a list of behaviours, or a map that has one under
 * `behaviours`. Throws Error with the file and the problem.
 */
export async function readScenario(path: string): Promise<readonly Behaviour[]> {
  try {
    const text = await readFile(path, 'utf8');
    if (text.length > MAX_BYTES) throw new Error('the file is too long');
    const value: unknown = parse(text);
    const list =
      typeof value === 'object' && value !== null && 'behaviours' in value
        ? value.behaviours
        : value;
    return checkBehaviours(list);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`scenario ${path}: ${why}`, { cause });
  }
}

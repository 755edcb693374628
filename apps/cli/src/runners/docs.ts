import { mapOf } from '@brine/wire';
import type { Printer } from '../printer.ts';
import type { Terminal } from '../terminal.ts';
import { EXCHANGE_RUNNER } from './exchange.ts';

/**
 * Shows the runners with this prefix, with `-d` as plain text below their names. False without any.
 */
export async function showRunnerDocs(
  prefix: string,
  plain: boolean,
  printer: Pick<Printer, 'show'>,
  out: Terminal['out'],
): Promise<boolean> {
  const { RUNNERS } = await import('@brine/runners');
  const found = [...RUNNERS.values(), ...EXCHANGE_RUNNER]
    .filter(({ name }) => isUnder(prefix, name, plain))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  if (plain) {
    for (const { name, doc } of found) {
      // As in Salt, --out applies only to the name.
      printer.show(`${name}:`, 'txt');
      out(`\n    ${doc}\n\n`);
    }
    return found.length > 0;
  }
  if (found.length === 0) return false;
  printer.show(mapOf(Object.fromEntries(found.map(({ name, doc }) => [name, doc]))), 'nested');
  return true;
}

/** `-d jobs` matches whole parts of a name; without `-d` any beginning does; empty matches all. */
function isUnder(prefix: string, name: string, plain: boolean): boolean {
  return name === prefix || name.startsWith(plain && prefix !== '' ? `${prefix}.` : prefix);
}

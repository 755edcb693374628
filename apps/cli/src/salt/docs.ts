import { isMap, type SaltMap } from '@brine/wire';
import { EXIT } from '../exit-codes.ts';
import type { Printer } from '../printer.ts';
import type { Terminal } from '../terminal.ts';

/**
 * `sys.doc`: the texts of all minions, each function once, from the first minion. Returns the exit
 * code (Salt: salt/cli/salt.py _print_docs).
 * @param returns returns by minion; a text for a silent one
 */
export function showDocs(
  { printer, terminal }: { readonly printer: Printer; readonly terminal: Terminal },
  returns: SaltMap,
): number {
  if (returns.size === 0) {
    terminal.err('No minions found to gather docs from\n');
    return EXIT.noReturn;
  }
  const docs = new Map<string, string>();
  for (const texts of returns.values()) {
    if (!isMap(texts)) continue;
    for (const [fun, text] of texts) {
      if (typeof fun !== 'string' || typeof text !== 'string' || text === '') continue;
      if (!docs.has(fun)) docs.set(fun, text);
    }
  }
  for (const [fun, text] of [...docs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (printer.options.output === undefined) terminal.out(`${fun}:\n${text}\n\n`);
    // Salt ends at the first text that no outputter can show.
    else if (!printer.show(new Map([[fun, text]]), 'nested')) return EXIT.generic;
  }
  return EXIT.ok;
}

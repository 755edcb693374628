import { matchGlob } from '@brine/target';
import type { SaltMap, SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { FunctionTable, MinionFunction } from './minion-function.ts';

/** The docs of all functions whose names match one of the globs; all without globs. */
export function docsOf(table: FunctionTable, globs: readonly string[]): SaltMap {
  const docs: SaltMap = new Map();
  for (const name of chosen(table, globs)) docs.set(name, table.get(name)?.doc ?? '');
  return docs;
}

/** The module `sys`, about the functions of a table that is complete when they are called. */
export function sysFunctions(table: FunctionTable): FunctionTable {
  const names = (globs: readonly SaltValue[]): string[] => chosen(table, globs.map(pyStr));
  return new Map<string, MinionFunction>([
    [
      'sys.list_functions',
      {
        doc: 'List the functions for all modules.',
        takes: 'args',
        run: (call) => names(call.args.map((glob) => asFunctionGlob(pyStr(glob)))),
      },
    ],
    [
      'sys.list_modules',
      {
        doc: 'List the modules loaded on the minion.',
        takes: 'args',
        run: (call) => {
          const modules = new Set(names([]).map((name) => name.slice(0, name.indexOf('.'))));
          const globs = call.args.map(pyStr);
          return [...modules].filter(
            (name) => globs.length === 0 || globs.some((glob) => matchGlob(glob, name)),
          );
        },
      },
    ],
    [
      'sys.doc',
      {
        doc: 'Return the docstrings for all modules, or for the functions that are named.',
        takes: 'args',
        run: (call) =>
          docsOf(
            table,
            call.args.map((glob) => asFunctionGlob(pyStr(glob))),
          ),
      },
    ],
  ]);
}

/** `test` means all of its functions. */
function asFunctionGlob(glob: string): string {
  return glob.includes('.') || glob.includes('*') ? glob : `${glob}.*`;
}

function chosen(table: FunctionTable, globs: readonly string[]): string[] {
  const all = [...table.keys()].sort();
  if (globs.length === 0) return all;
  return all.filter((name) => globs.some((glob) => matchGlob(glob, name)));
}

import type { Job } from '@brine/api/jobs';
import { keywordIn } from '../../state/run/arguments-form.ts';
import { commandLine, NO_COMMAND, TARGET_KINDS } from '../../state/run/run-command.ts';
import { typedValue } from '../../state/run/typed-value.ts';
import type { ShellLine } from '../../state/shell-word.ts';

/**
 * The command that does the same again; undefined for what no command line of Salt means exactly:
 * several functions at once, and texts that would be read as something else.
 */
export function beganBy({
  fun,
  arg,
  tgt,
  tgtType = 'glob',
}: Pick<Job, 'fun' | 'arg' | 'tgt' | 'tgtType'>): ShellLine | undefined {
  const [only] = fun;
  const kind = TARGET_KINDS.find(({ type }) => type === tgtType)?.type;
  const words = wordsOf(arg);
  if (only === undefined || fun.length > 1 || tgt === undefined) return undefined;
  if (kind === undefined || words === undefined) return undefined;
  return commandLine({ ...NO_COMMAND, tgt: tgt.join(','), tgtType: kind, fun: only, arg: words });
}

function wordsOf(arg: readonly unknown[]): readonly string[] | undefined {
  const words: string[] = [];
  for (const one of arg) {
    const isNamed = isMap(one) && one['__kwarg__'] === true;
    const pairs = isNamed ? Object.entries(one).filter(([name]) => name !== '__kwarg__') : [];
    for (const [name, value] of isNamed ? pairs : ([[undefined, one]] as const)) {
      const word = wordOf(value);
      const full = name === undefined ? word : `${name}=${word}`;
      if (word === undefined || keywordIn(full ?? '')?.[0] !== name) return undefined;
      words.push(full ?? '');
    }
  }
  return words;
}

/** The word that means a value, if there is one. */
function wordOf(value: unknown): string | undefined {
  const plain = plainOf(value);
  return [plain, JSON.stringify(value)].find((word) => {
    if (word === undefined || /[\r\n]/.test(word)) return false;
    const meant = typedValue(word);
    return meant.kind === 'value' && JSON.stringify(meant.value) === JSON.stringify(value);
  });
}

function plainOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (value === null) return 'None';
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : undefined;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

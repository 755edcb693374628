import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { compareText, pyRepr, pyStr, splitLines } from '@brine/wire/text';
import type { BoundArguments, RunnerContext, RunnerFunction } from '../function.ts';
import { targetOf } from './meant.ts';
import { returnsOf } from './run-on-minions.ts';
import { DiffWorkError, unifiedDiff } from './unified-diff.ts';

const ARGUMENTS =
  '<target> <function> [arguments]. The target is compound, or pcre with tgt_type=pcre. ' +
  'survey_sort=up puts the smallest pool first (default down). Other keywords go to the function.';

/** Keywords of the survey itself. */
const OWN: ReadonlySet<SaltValue> = new Set(['survey_sort', 'tgt_type']);

/** Groups minions by their return as text: `{pool, result}`, the largest pool first. */
async function poolsOf(
  { args, kwargs }: BoundArguments,
  context: RunnerContext,
): Promise<readonly SaltMap[]> {
  const [tgt, fun, ...words] = args;
  if (tgt === undefined || fun === undefined) throw new Error('target and function are required');
  const passed = [...kwargs].filter(([name]) => !OWN.has(name) && !pyStr(name).startsWith('_'));
  const keywords = new Map<SaltValue, SaltValue>([['__kwarg__', true], ...passed]);
  const found = await returnsOf(context, {
    tgt: targetOf(tgt),
    tgtType: kwargs.get('tgt_type') === 'pcre' ? 'pcre' : 'compound',
    fun: pyStr(fun),
    arg: passed.length === 0 ? words : [...words, keywords],
  });
  const pools = new Map<string, SaltValue[]>();
  for (const [id, ret] of [...found].sort(([a], [b]) => compareText(pyStr(a), pyStr(b)))) {
    const result = pyStr(ret);
    pools.set(result, [...(pools.get(result) ?? []), id]);
  }
  const turn = textOf(kwargs, 'survey_sort') === 'up' ? 1 : -1;
  return [...pools]
    .sort(([, one], [, other]) => turn * (one.length - other.length))
    .map(([result, pool]) => mapOf({ pool, result }));
}

const hash: RunnerFunction = {
  name: 'survey.hash',
  parameters: [],
  open: 'any',
  doc: `Groups minions by what they return: survey.hash ${ARGUMENTS}`,
  run: async (given, context) => ({ value: [...(await poolsOf(given, context))] }),
};

const diff: RunnerFunction = {
  name: 'survey.diff',
  parameters: [],
  open: 'any',
  doc:
    'Groups minions by what they return, and prints the differences between the first pool and ' +
    `each other one: survey.diff ${ARGUMENTS}`,
  async run(given, context) {
    const pools = await poolsOf(given, context);
    const [first] = pools;
    for (const pool of pools) context.out(shownPool(pool, first === pool ? undefined : first));
    return { value: [...pools] };
  },
};

/** A pool as Salt prints it; with `first`, the differences from that one. */
function shownPool(pool: SaltMap, first: SaltMap | undefined): string {
  const ids = listOf(pool, 'pool') ?? [];
  const result = textOf(pool, 'result') ?? '';
  const head = `minion pool :\n------------\n${pyRepr(ids)}\npool size :\n----------\n`;
  const size = `    ${ids.length}\n`;
  if (!isMap(first)) return `${head}${size}pool result :\n------------\n    ${result}\n\n`;
  const [from, to] = [pyStr(listOf(first, 'pool')?.[0] ?? ''), pyStr(ids[0] ?? '')];
  const title = `differences from "${from}" results :`;
  const lines = differences(
    { name: from, lines: splitLines(textOf(first, 'result') ?? '') },
    { name: to, lines: splitLines(result) },
  );
  return `${head}${size}${title}\n${'-'.repeat(title.length - 1)}\n${lines}\n\n`;
}

function differences(...texts: Parameters<typeof unifiedDiff>): string {
  try {
    return unifiedDiff(...texts).join('');
  } catch (error) {
    if (error instanceof DiffWorkError) return `not shown: ${error.message}\n`;
    throw error;
  }
}

export const SURVEY_RUNNER: readonly RunnerFunction[] = [diff, hash];

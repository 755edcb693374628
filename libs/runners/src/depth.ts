import type { RunnerMaster } from './function.ts';

/**
 * Why a call is not made that is inside too many others, each of which began the next; undefined
 * where it may be made. One that begins itself would go on until no process has room for anything
 * else.
 * @param depth the calls that it is inside of
 */
export function tooDeep(
  fun: string,
  depth: number,
  { depthMax }: Pick<RunnerMaster, 'depthMax'>,
): string | undefined {
  if (depth <= depthMax) return undefined;
  return (
    `${fun} was not run: it is inside ${depthMax} calls of runners, ` +
    'each of which began the next. Does it begin itself?'
  );
}

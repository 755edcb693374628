import type { RunnerMaster } from './function.ts';

/**
 * Why a call inside too many nested calls is refused; undefined if it is allowed. A call that calls
 * itself would otherwise fill every process.
 * @param depth number of calls around it
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

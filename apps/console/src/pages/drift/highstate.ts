import { shellLine } from '../../state/shell-word.ts';

/** Ids in one target: an address has them all. */
export const TARGETS_MAX = 200;

/** A dry run of the highstate on minions: for the run page, and for the command line. */
export function highstateOn(ids: readonly string[]) {
  const tgt = ids.slice(0, TARGETS_MAX).join(',');
  return {
    search: { tgt, tgtType: 'list', fun: 'state.apply', arg: 'test=True' },
    command: shellLine('salt', '-L', tgt, 'state.apply', 'test=True'),
  } as const;
}

import type { Right } from '@brine/api';
import { rightsFor } from '../rights.ts';
import type { RunCommand, TargetKind } from './run-command.ts';
import { idsOf } from './run-request.ts';

/** Before a term of a compound target; none for what can not be one. */
const PREFIXES: Readonly<Record<Exclude<TargetKind, 'compound' | 'list'>, string>> = {
  glob: '',
  pcre: 'E@',
  grain: 'G@',
  grain_pcre: 'P@',
  pillar: 'I@',
  pillar_pcre: 'J@',
  nodegroup: 'N@',
  ipcidr: 'S@',
  range: 'R@',
};

/** Rights that are joined in one target, at most. */
const RIGHTS_MAX = 20;

/**
 * The part of a target on which rights allow its function, as a compound target.
 * @returns undefined without such a right, and for what has no form as a term
 */
export function allowedTarget(
  command: Pick<RunCommand, 'tgt' | 'tgtType' | 'fun'>,
  rights: readonly Right[],
): string | undefined {
  const term = termOf(command);
  const own = [...new Set(rightsFor(rights, command.fun).map(({ on }) => on.trim()))];
  if (term === undefined || own.length === 0 || own.length > RIGHTS_MAX) return undefined;
  return `( ${term} ) and ( ${own.map((on) => `( ${on} )`).join(' or ')} )`;
}

function termOf({ tgt, tgtType }: Pick<RunCommand, 'tgt' | 'tgtType'>): string | undefined {
  const text = tgt.trim();
  if (text === '') return undefined;
  if (tgtType === 'compound') return text;
  const word = tgtType === 'list' ? `L@${idsOf(text).join(',')}` : `${PREFIXES[tgtType]}${text}`;
  // Words of a compound target have spaces between them.
  return /\s/.test(word) ? undefined : word;
}

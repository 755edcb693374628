export { dataNeeded } from './data-needed.ts';
export { compileGlob, matchGlob } from './glob.ts';
export { checkMinions } from './master-side.ts';
export { matchMinion } from './minion-side.ts';
export { expandNodegroup } from './nodegroups.ts';
export { pillarTerms } from './pillar-terms.ts';
export { compilePcre, compilePcreWhole, matchPcre, matchPcreWhole } from './pcre.ts';
export { RegexError } from './python-regex/ast.ts';
export { PythonRegex } from './python-regex/regex.ts';
export { compileSubdict } from './subdict.ts';
export { Work, WorkError } from './work.ts';

export type { Data } from './data.ts';
export type { DataNeeded } from './data-needed.ts';
export type { CheckedMinions } from './master-side.ts';
export type { Nodegroups } from './nodegroups.ts';
export type { PillarTerms } from './pillar-terms.ts';
export type { Target, TargetView } from './target.ts';

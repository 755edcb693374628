export type { OptionText } from './describe.ts';
export type { EffectiveOption } from './effective.ts';
export { effectiveOptions, knownSecrets } from './effective.ts';
export { explainOption } from './explain.ts';
export { optionLines, sourceText } from './option-lines.ts';
export { masterReference, minionReference, unreadReference } from './reference.ts';
export { standingOf } from './standing-of.ts';

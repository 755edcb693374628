export type { OptionText } from './describe.ts';
export type { EffectiveOption, ValueSource } from './effective.ts';
export { effectiveOptions } from './effective.ts';
export type { Explanation } from './explain.ts';
export { explainOption } from './explain.ts';
export type { ReferenceGroup, UnreadOptions } from './reference.ts';
export { masterReference, minionReference, unreadReference } from './reference.ts';

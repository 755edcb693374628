export type { OptionText } from './describe.ts';
export type { EffectiveOption, ValueSource } from './effective.ts';
export { effectiveOptions } from './effective.ts';
export { explainOption } from './explain.ts';
export { masterReference, minionReference, unreadReference } from './reference.ts';

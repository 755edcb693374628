export { examine } from './examine.ts';
export { lookAtFacts } from './facts/facts.ts';
export { examineBorders } from './security/examine-borders.ts';

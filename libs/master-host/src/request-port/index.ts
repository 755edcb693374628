export { untilAnswers } from './answers.ts';
export { reach } from './reach.ts';

export { fromJson, toJson } from './json.ts';
export { readJson } from './json-read.ts';
export { masked } from './masked.ts';
export { formatNumber } from './number-format.ts';
export type { PercentField, PercentForm } from './percent-format.ts';
export { percentFields, percentNumber, percentText } from './percent-format.ts';
export { plainText, visible } from './plain-text.ts';
export { pyBrackets, pyFloat, pyRepr } from './python-repr.ts';
export {
  compareText,
  isNumber,
  isTruthy,
  pyLength,
  pyStr,
  sortedValues,
  splitLines,
  strip,
  stripEnd,
  stripEscapes,
  typeName,
} from './python-text.ts';
export { strftime, wallClock } from './strftime.ts';
export { JsonTranscoder } from './transcode.ts';

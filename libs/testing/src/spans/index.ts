export type { RecordedSpan } from './recorded-spans.ts';
export { orphansOf, readRecordedSpans, spansOfRequest } from './recorded-spans.ts';

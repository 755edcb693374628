export { EventRecord } from './event-record.ts';
export type { SoughtSecret } from './forms.ts';
export { formsOf } from './forms.ts';
export type { AllowedPlace, SinkSearch } from './search-sinks.ts';
export { foundLines, searchSinks } from './search-sinks.ts';
export type { SinkContent } from './sink-contents.ts';
export { filesBelow } from './sink-contents.ts';
export { storesWhat } from './stored-secrets.ts';

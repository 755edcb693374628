/** Parameters of the page: those of `/v1/events`, whether it follows, and what is open. */
export const EVENTS_SEARCH = [
  'from',
  'to',
  'tag',
  'minion',
  'jid',
  'kind',
  'follow',
  'open',
  'stream',
] as const;

export type EventsSearch = { readonly [name in (typeof EVENTS_SEARCH)[number]]?: string };

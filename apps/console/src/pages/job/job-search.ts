/** Parameters of the page of a job. */
export const JOB_SEARCH = [
  /** The time of the ledger that is shown. */
  'at',
  'tab',
  /** Minions: their state, a part of their id. */
  'state',
  'q',
  /** The minion whose return is open. */
  'open',
  /** Answers: how they are compared, and the digest of the one that is compared. */
  'like',
  'diff',
  /** States: their order. */
  'sort',
  /** Trace: the spans that are closed, the one whose drawer is open. */
  'closed',
  'span',
  /** Raw: `true` for returns that do not count too. */
  'evidence',
] as const;

export type JobSearch = { readonly [name in (typeof JOB_SEARCH)[number]]?: string };

/** The tabs, in their order. */
export const JOB_TABS = ['answers', 'minions', 'states', 'why', 'trace', 'events', 'raw'] as const;
export type JobTab = (typeof JOB_TABS)[number];

/** The tab of an address; the first one for a strange name. */
export function tabOf({ tab }: JobSearch): JobTab {
  return JOB_TABS.find((one) => one === tab) ?? 'answers';
}

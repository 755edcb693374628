/** How often and when something was seen of a minion and a job; unix ms. */
export interface Seen {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

/**
 * The evidence about one minion and one job. Times are unix ms. Unknown fields are absent: the rule
 * assumes nothing without evidence.
 */
export interface SilenceEvidence {
  readonly publishedMs: number;
  /** The end of the time for returns; absent for a job without a deadline. */
  readonly deadlineMs?: number;
  /** Named by the job's target when it was published. */
  readonly targeted: boolean;
  /** The counted return. `elsewhere` names the way that it came, if not through this master. */
  readonly returned?: { readonly atMs: number; readonly elsewhere?: string };
  /** The minion's key now; absent if the master has none under this id. */
  readonly key?: {
    readonly state: 'accepted' | 'pending' | 'rejected' | 'deleted';
    /** Another key was offered under this id and refused. */
    readonly denied: boolean;
    /** When the record changed last. */
    readonly atMs?: number;
  };
  /** Answers to find_job that named the job. */
  readonly running?: Seen;
  /** Answers to find_job that did not name the job. */
  readonly notRunning?: Seen;
  /** Returns of this minion to this job that were not counted. */
  readonly refused?: { readonly atMs: number; readonly reason: string };
  /** The publication was not sent, since it was past its time. */
  readonly expiredMs?: number;
  /** The job was sent to this minion again. */
  readonly sentAgain?: Seen;
  /** Log-ins, any order. */
  readonly logInsMs: readonly number[];
  /** Last message of the minion before the publication (any return or log-in). */
  readonly messageBeforeMs?: number;
  /** Last message of the minion after it, except for answers about this job and log-ins. */
  readonly messageAfterMs?: number;
  /** Earlier jobs for this minion, published after that last message, that it left unanswered. */
  readonly unansweredBefore: number;
  /** Its connection to 4505, if the master knows of it. Unknown times are 0. */
  readonly connection?: {
    readonly present: boolean;
    /** Since when it exists, or is missing. */
    readonly sinceMs: number;
    /** When it was last lost. */
    readonly goneMs: number;
  };
  /** The target against the grains that are stored now, if the target asks for grains. */
  readonly grains?: { readonly matches: boolean; readonly atMs?: number };
}

/** The causes, in the order of the rule: the first with evidence applies. */
export const SILENCE_CAUSES = [
  'returned_elsewhere',
  'returned_late',
  'returned',
  'refused',
  'running',
  'stopped_running',
  'key_unknown',
  'key_pending',
  'key_rejected',
  'key_deleted',
  'not_targeted',
  'expired',
  'target_no_longer_matches',
  'not_connected',
  'dropped_by_log_in',
  'not_running',
  'key_denied',
  'unknown',
  'not_heard_since',
  'nothing_heard_since',
] as const;

/** Why a minion is silent. */
export type SilenceCause = (typeof SILENCE_CAUSES)[number];

/** The cause, and a text for people with the evidence and its times. */
export interface Silence {
  readonly cause: SilenceCause;
  readonly text: string;
}

/**
 * Names the cause of a minion's silence. Evidence about this very job goes before evidence about
 * the minion, and proofs go before hints. If two causes are possible, the text names both.
 */
export function causeOfSilence(evidence: SilenceEvidence): Silence {
  for (const cause of SILENCE_CAUSES) {
    const text = RULES[cause](evidence);
    if (text !== undefined) return { cause, text };
  }
  return { cause: 'unknown', text: 'unknown, because nothing is known of it' };
}

type Rule = (evidence: SilenceEvidence) => string | undefined;

/** Each rule returns its text if its cause applies, after all causes before it did not. */
const RULES: Readonly<Record<SilenceCause, Rule>> = {
  returned_elsewhere: ({ returned }) =>
    returned?.elsewhere && `returned ${at(returned.atMs)} to ${returned.elsewhere}`,
  returned_late({ returned, deadlineMs }) {
    if (returned === undefined || deadlineMs === undefined || returned.atMs <= deadlineMs) return;
    return `returned late: ${at(returned.atMs)}, the deadline was ${time(deadlineMs)}`;
  },
  returned: ({ returned }) => returned && `returned ${at(returned.atMs)}`,
  refused: ({ refused }) =>
    refused && `its return ${at(refused.atMs)} was refused: ${refused.reason}`,
  running: ({ running, notRunning }) =>
    running !== undefined && running.lastMs >= (notRunning?.lastMs ?? -Infinity)
      ? `running: it answered find_job ${at(running.lastMs)}${times(running)}`
      : undefined,
  stopped_running: (evidence) => {
    const { running, notRunning } = evidence;
    if (running === undefined || notRunning === undefined) return;
    const began = evidence.logInsMs.find((ms) => ms >= running.lastMs);
    const again = began === undefined ? '' : `; it logged in again ${at(began)}`;
    return (
      `not running any more: it ran the job ${at(running.lastMs)}, not any more ` +
      `${at(notRunning.lastMs)}, and no return came${again}`
    );
  },
  key_unknown: ({ key }) =>
    key === undefined ? 'its key is not accepted: none is known under this id' : undefined,
  key_pending: ({ key }) => keyText(key, 'pending', 'it waits for a decision'),
  key_rejected: ({ key }) => keyText(key, 'rejected', 'it was rejected'),
  key_deleted: ({ key }) => keyText(key, 'deleted', 'it was deleted'),
  not_targeted: ({ targeted, key }) =>
    targeted ? undefined : `not targeted at publish; its key is accepted${since(key?.atMs)}`,
  expired: ({ expiredMs, sentAgain }) => {
    if (expiredMs === undefined || (sentAgain?.lastMs ?? 0) > expiredMs) return;
    const tries = sentAgain === undefined ? '' : `, ${sentAgain.count} times sent again before`;
    return `job expired: ${at(expiredMs)} it was past its time and was not sent any more${tries}`;
  },
  target_no_longer_matches: ({ grains }) => {
    if (grains?.matches !== false) return;
    const when = grains.atMs === undefined ? '' : ` ${at(grains.atMs)}`;
    return `target no longer matches the grains that it sent${when}`;
  },
  not_connected: (evidence) => {
    const seen = absentAtPublish(evidence);
    if (seen !== undefined) return seen;
    const logIn = firstLogIn(evidence);
    if (logIn === undefined || evidence.unansweredBefore === 0) return;
    return (
      `not connected at publish: ${unanswered(evidence)} before it without an answer too, ` +
      `${lastMessage(evidence)}, logged in ${at(logIn)}`
    );
  },
  dropped_by_log_in: (evidence) => {
    const logIn = firstLogIn(evidence);
    if (logIn === undefined || logIn > (evidence.deadlineMs ?? Infinity)) return;
    const asked = evidence.notRunning;
    const proof = asked === undefined ? '' : `; it did not run the job ${at(asked.lastMs)}`;
    return (
      `logged in again meanwhile, ${at(logIn)}, and dropped the publication of ` +
      `${time(evidence.publishedMs)} or was unreachable; ${lastMessage(evidence)}${proof}`
    );
  },
  not_running: ({ notRunning }) =>
    notRunning &&
    `not running: it answered find_job ${at(notRunning.lastMs)}${times(notRunning)}; ` +
      'it did not take the job, or lost its return',
  key_denied: (evidence) =>
    evidence.key?.denied === true && lastMessageAfter(evidence) === undefined
      ? `its key is not accepted: it was denied${since(evidence.key.atMs)}, ` +
        'for another key is accepted under its id'
      : undefined,
  unknown: (evidence) => {
    const lastMs = lastMessageAfter(evidence);
    if (lastMs === undefined) return;
    return (
      `unknown, because it sent a message ${at(lastMs)}, after the publication, but ` +
      `none about this job${connectionNow(evidence)}`
    );
  },
  not_heard_since: (evidence) => {
    const { messageBeforeMs, unansweredBefore } = evidence;
    if (unansweredBefore === 0 && messageBeforeMs !== undefined) return;
    const start = messageBeforeMs === undefined ? 'the history here begins' : time(messageBeforeMs);
    const others =
      unansweredBefore === 0 ? '' : `: ${unanswered(evidence)} before it without an answer too`;
    const connection = connectionNow(evidence) || '; its connection then is unknown';
    return `no message since ${start}${others}${connection}`;
  },
  nothing_heard_since: (evidence) =>
    `published ${at(evidence.publishedMs)}, no message since; ${lastMessage(evidence)}` +
    connectionNow(evidence),
};

/** A text if the minion had no connection when the job was published. */
function absentAtPublish({ connection, publishedMs }: SilenceEvidence): string | undefined {
  if (connection === undefined) return undefined;
  const { present, sinceMs, goneMs } = connection;
  if (!present && sinceMs > 0 && sinceMs <= publishedMs) {
    return `not connected at publish: its connection ended ${at(sinceMs)} and did not come back`;
  }
  const wasAway = goneMs > 0 && goneMs <= publishedMs && sinceMs > publishedMs;
  if (!present || !wasAway) return undefined;
  const back = `the next one is of ${time(sinceMs)}`;
  return `not connected at publish: its connection ended ${at(goneMs)}, ${back}`;
}

/** The connection as an addition to a cause that does not explain the silence. */
function connectionNow({ connection }: SilenceEvidence): string {
  if (connection === undefined || connection.sinceMs === 0) return '';
  const { present, sinceMs } = connection;
  return present ? `; connected since ${time(sinceMs)}` : `; its connection ended ${at(sinceMs)}`;
}

function keyText(key: SilenceEvidence['key'], state: string, why: string): string | undefined {
  if (key?.state !== state) return undefined;
  return `its key is not accepted: ${why}${since(key.atMs)}`;
}

/**
 * The first log-in after the publication. If the minion had answered before it that it does not run
 * the job, the log-in is no cause.
 */
function firstLogIn({ logInsMs, publishedMs, notRunning }: SilenceEvidence): number | undefined {
  const after = logInsMs.filter((ms) => ms > publishedMs);
  if (after.length === 0) return undefined;
  const first = Math.min(...after);
  return first > (notRunning?.firstMs ?? Infinity) ? undefined : first;
}

function lastMessageAfter(evidence: SilenceEvidence): number | undefined {
  const { logInsMs, publishedMs, messageAfterMs } = evidence;
  const sentMs = [...logInsMs, messageAfterMs ?? 0].filter((ms) => ms > publishedMs);
  return sentMs.length === 0 ? undefined : Math.max(...sentMs);
}

function unanswered({ unansweredBefore }: SilenceEvidence): string {
  return unansweredBefore === 1 ? 'a job' : `${unansweredBefore} jobs`;
}

function lastMessage({ messageBeforeMs }: SilenceEvidence): string {
  return messageBeforeMs === undefined
    ? 'no message before'
    : `last message ${at(messageBeforeMs)}`;
}

function times({ count }: Seen): string {
  return count > 1 ? `, ${count} times` : '';
}

function since(ms: number | undefined): string {
  return ms === undefined || ms === 0 ? '' : ` (since ${time(ms)})`;
}

function at(ms: number): string {
  return `at ${time(ms)}`;
}

/** Times as ISO 8601 in UTC, as job ids count them. */
function time(ms: number): string {
  return new Date(ms).toISOString();
}

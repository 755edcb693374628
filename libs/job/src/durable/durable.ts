/**
 * The rule of durable jobs. A minion that comes back announces itself only by a log-in, and not
 * even by that if it kept its keys. So a durable job is handled in turns until its time is over. A
 * turn asks the minions that have not returned whether they run the job (`saltutil.find_job`). A
 * minion that answers no gets it again under the same jid. A minion that does not answer is
 * unreachable and gets nothing.
 *
 * Pure: takes the state of a job, the facts about its minions and the time; gives the next action.
 */

/** The progress of a durable job. Times are unix milliseconds. */
export interface DurableState {
  readonly jid: string;
  readonly publishedAt: number;
  /** Nothing is sent after it. */
  readonly notAfter: number;
  /** Turns begun; 0 is the first publication itself. */
  readonly turn: number;
  /** When the turn under way, or the last one, began. */
  readonly startedAt: number;
  /** {@link IDLE} between turns; 0 until the question is sent; then counts looks at the answers. */
  readonly look: number;
  /** The jid of the question of this turn; empty between turns. */
  readonly probe: string;
  /** When the turn before began: a slow minion may answer it after its last look. */
  readonly lastStartedAt: number;
  /** Minions that were asked in this turn and have not answered yet. */
  readonly asked: readonly string[];
  /** Minions to send the job to now; kept until it is confirmed, so that a crash repeats it. */
  readonly sending: readonly string[];
  /** When the next turn with all minions is due. */
  readonly regularAt: number;
  /** Minions that logged in since, and when: they are asked earlier than the others. */
  readonly heard: ReadonlyMap<string, number>;
  /** When this state has to be rechecked. */
  readonly dueAt: number;
  /** Set at the end: all minions returned, or the time is over. */
  readonly closed?: 'complete' | 'expired';
}

/** The facts about the minions of a job. */
export interface DurableFacts {
  /** Targeted and not returned. */
  readonly waiting: readonly string[];
  /**
   * Whether each minion runs the job. A yes counts if it came in this turn, whichever client asked.
   * A no counts if it came in this turn or the one before, and after the job was last sent to the
   * minion: so each no counts once.
   */
  readonly answers: ReadonlyMap<string, boolean>;
  /** Minions that were sent the job again: how often, and when last. */
  readonly sent: ReadonlyMap<string, { readonly count: number; readonly lastAt: number }>;
}

/** The next action of the owner of a turn, which it confirms afterwards. */
export type DurableAction =
  | { readonly kind: 'ask'; readonly minions: readonly string[] }
  | { readonly kind: 'send'; readonly minions: readonly string[] };

/** A step of the rule. */
export interface DurableStep {
  readonly state: DurableState;
  /** Undefined if there is nothing to do before `state.dueAt`. */
  readonly action: DurableAction | undefined;
}

/** `look` of a job between two turns. */
export const IDLE = -1;

// Delays from the question to the first look and between looks. Most minions answer within 2 s
// (protocol.md 16.4: 0.2 s for four of them); a busy or new one may take longer.
const LOOKS_AFTER_MS = [2_000, 3_000, 5_000] as const;
// A minion subscribes after its log-in, a stock one within a few seconds.
const AFTER_LOG_IN_MS = 3_000;
// After this the regular turns are soon enough.
const LOG_IN_COUNTS_MS = 60_000;
// A minion that got the job three times while it was reachable ran it, or will not. More questions
// would push the jid out of the last 100 that it knows. A log-in may be a restart, so it counts
// again.
const SENDS_MAX = 3;
/** An action that was not confirmed is handed out again after this. */
const CONFIRM_WITHIN_MS = 60_000;
const FIRST_TURN_MS = 10_000;
const INTERVAL_MIN_MS = 60_000;
const INTERVAL_MAX_MS = 300_000;
/** Ids of one question or sending: some 30 KB, which every minion has to open. */
const PIECE_IDS = 1_000;
// Large fleets of absent minions are asked less often: a piece every 6 s on average.
const PER_PIECE_MS = 6_000;

/** A job that was just published; `minions` are its targets. */
export function openDurable(job: {
  readonly jid: string;
  readonly publishedAt: number;
  readonly notAfter: number;
}): DurableState {
  const firstAt = Math.min(job.publishedAt + FIRST_TURN_MS, job.notAfter);
  return {
    ...job,
    turn: 0,
    startedAt: job.publishedAt,
    look: IDLE,
    probe: '',
    lastStartedAt: job.publishedAt,
    asked: [],
    sending: [],
    regularAt: firstAt,
    heard: new Map(),
    dueAt: firstAt,
  };
}

/** Notes log-ins (id → unix ms); during a turn they count after it. */
export function noteLogIns(state: DurableState, logIns: ReadonlyMap<string, number>): DurableState {
  const heard = new Map(state.heard);
  for (const [id, at] of logIns) if (at > state.startedAt) heard.set(id, at);
  const next = { ...state, heard };
  return state.look === IDLE ? { ...next, dueAt: Math.min(state.dueAt, idleUntil(next)) } : next;
}

/**
 * The step that is due at `now`. `probe` is a fresh jid, for the question of a turn that begins.
 */
export function stepDurable(
  state: DurableState,
  facts: DurableFacts,
  now: number,
  probe: string,
): DurableStep {
  if (facts.waiting.length === 0) return over(state, 'complete');
  if (now >= state.notAfter) return over(state, 'expired');
  if (state.look === IDLE) return beginTurn(state, facts, now, probe);
  const until = { ...state, dueAt: now + CONFIRM_WITHIN_MS };
  if (state.look === 0) return { state: until, action: { kind: 'ask', minions: state.asked } };
  if (state.sending.length > 0) {
    return { state: until, action: { kind: 'send', minions: state.sending } };
  }
  const waiting = new Set(facts.waiting);
  const there = state.asked.filter((id) => waiting.has(id) && facts.answers.has(id));
  const sending = there.filter(
    (id) => facts.answers.get(id) === false && !isDone(state, facts, id),
  );
  const answered = new Set(there);
  const heard = new Map([...state.heard].filter(([id]) => waiting.has(id) && !answered.has(id)));
  const asked = state.asked.filter((id) => waiting.has(id) && !answered.has(id));
  const looked = { ...state, heard, asked, sending };
  if (sending.length === 0) return { state: nextLook(looked, now), action: undefined };
  return {
    state: { ...looked, dueAt: now + CONFIRM_WITHIN_MS },
    action: { kind: 'send', minions: sending },
  };
}

/** Confirms the action of this state: its messages are in the stream. */
export function confirmDurable(state: DurableState, now: number): DurableState {
  if (state.look === 0) return { ...state, look: 1, dueAt: now + LOOKS_AFTER_MS[0] };
  return nextLook({ ...state, sending: [] }, now);
}

/** Cuts ids into pieces for one question or sending each. */
export function durablePieces(ids: readonly string[]): (readonly string[])[] {
  const pieces: (readonly string[])[] = [];
  for (let at = 0; at < ids.length; at += PIECE_IDS) pieces.push(ids.slice(at, at + PIECE_IDS));
  return pieces;
}

function beginTurn(
  state: DurableState,
  facts: DurableFacts,
  now: number,
  probe: string,
): DurableStep {
  const waiting = facts.waiting.filter((id) => !isDone(state, facts, id));
  const regular = now >= state.regularAt;
  const asked = regular ? waiting : waiting.filter((id) => isRipe(state, id, now));
  const known = new Set(facts.waiting);
  const heard = new Map(
    [...state.heard].filter(([id, at]) => known.has(id) && now < at + LOG_IN_COUNTS_MS),
  );
  const regularAt = regular
    ? now + intervalMs(now - state.publishedAt, asked.length)
    : state.regularAt;
  if (asked.length === 0) {
    const idle = { ...state, heard, regularAt };
    return { state: { ...idle, dueAt: Math.max(now + 1_000, idleUntil(idle)) }, action: undefined };
  }
  const turn = state.turn + 1;
  const times = { startedAt: now, lastStartedAt: state.startedAt };
  const begun = { ...state, ...times, turn, look: 0, probe, asked, sending: [], heard };
  return {
    state: { ...begun, regularAt, dueAt: now + CONFIRM_WITHIN_MS },
    action: { kind: 'ask', minions: asked },
  };
}

function nextLook(state: DurableState, now: number): DurableState {
  const after = LOOKS_AFTER_MS[state.look];
  if (after !== undefined && state.asked.length > 0) {
    return { ...state, look: state.look + 1, dueAt: now + after };
  }
  const idle = { ...state, look: IDLE, probe: '', asked: [], sending: [] };
  return { ...idle, dueAt: idleUntil(idle) };
}

/** True for a minion that was reachable, got the job often enough, and has not logged in since. */
function isDone(state: DurableState, facts: DurableFacts, id: string): boolean {
  const sent = facts.sent.get(id);
  if (sent === undefined || sent.count < SENDS_MAX) return false;
  return (state.heard.get(id) ?? 0) <= sent.lastAt;
}

function isRipe(state: DurableState, id: string, now: number): boolean {
  const at = state.heard.get(id);
  return at !== undefined && now >= at + AFTER_LOG_IN_MS && now < at + LOG_IN_COUNTS_MS;
}

function idleUntil(state: DurableState): number {
  let until = Math.min(state.regularAt, state.notAfter);
  for (const at of state.heard.values()) until = Math.min(until, at + AFTER_LOG_IN_MS);
  return until;
}

/** A minute at first, a thirtieth of the age later, five minutes at most. */
function intervalMs(ageMs: number, ids: number): number {
  const byAge = Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, ageMs / 30));
  return Math.max(ageMs < INTERVAL_MIN_MS ? ageMs : byAge, (ids / PIECE_IDS) * PER_PIECE_MS);
}

function over(state: DurableState, closed: 'complete' | 'expired'): DurableStep {
  const ended = { ...state, look: IDLE, probe: '', asked: [], sending: [], heard: new Map() };
  return { state: { ...ended, closed }, action: undefined };
}

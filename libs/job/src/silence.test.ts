import { describe, expect, it } from 'vitest';
import {
  causeOfSilence,
  SILENCE_CAUSES,
  type SilenceCause,
  type SilenceEvidence,
} from './index.ts';

const PUBLISHED = Date.UTC(2026, 10, 22, 12);
const MINUTE = 60_000;
const after = (minutes: number): number => PUBLISHED + minutes * MINUTE;
const seen = (minutes: number, count = 1) => ({
  firstMs: after(minutes),
  lastMs: after(minutes),
  count,
});

/** A minion that was well before the publication and of which nothing is known since. */
const QUIET: SilenceEvidence = {
  publishedMs: PUBLISHED,
  deadlineMs: after(60),
  targeted: true,
  key: { state: 'accepted', denied: false, atMs: after(-1000) },
  logInsMs: [after(-500)],
  messageBeforeMs: after(-5),
  unansweredBefore: 0,
};

/** Changes to {@link QUIET}; undefined removes a field. */
type Change = {
  readonly [Name in keyof SilenceEvidence]?: SilenceEvidence[Name] | undefined;
};

const changed = (...changes: readonly Change[]): SilenceEvidence =>
  Object.assign({ ...QUIET }, ...changes) as SilenceEvidence;

/** The proof of each cause, alone. */
const PROOFS: Readonly<Record<SilenceCause, Change>> = {
  returned_elsewhere: { returned: { atMs: after(1), elsewhere: 'another master' } },
  returned_late: { returned: { atMs: after(61) } },
  returned: { returned: { atMs: after(1) } },
  refused: { refused: { atMs: after(2), reason: 'its id is none' } },
  running: { running: seen(3) },
  stopped_running: { running: seen(3), notRunning: seen(4) },
  key_unknown: { key: undefined },
  key_pending: { key: { state: 'pending', denied: false, atMs: after(-9) } },
  key_rejected: { key: { state: 'rejected', denied: false, atMs: after(-9) } },
  key_deleted: { key: { state: 'deleted', denied: false, atMs: after(1) } },
  not_targeted: { targeted: false },
  expired: { expiredMs: after(0.5) },
  target_no_longer_matches: { grains: { matches: false, atMs: after(-1) } },
  not_connected: { unansweredBefore: 2, logInsMs: [after(7)] },
  dropped_by_log_in: { logInsMs: [after(-500), after(0.1)] },
  not_running: { notRunning: seen(4, 3) },
  key_denied: { key: { state: 'accepted', denied: true, atMs: after(-9) } },
  unknown: { messageAfterMs: after(8) },
  not_heard_since: { unansweredBefore: 1 },
  nothing_heard_since: {},
};

/** Pairs that say something else together than one of them alone: cases of their own below. */
const TOGETHER = new Set([
  'running stopped_running',
  'running not_running',
  'not_connected not_running',
  'dropped_by_log_in not_running',
  'dropped_by_log_in not_heard_since',
  'key_denied unknown',
]);

describe('the cause of a silence', () => {
  it.each(SILENCE_CAUSES)('%s holds where its evidence is all there is', (cause) => {
    expect(causeOfSilence(changed(PROOFS[cause])).cause).toBe(cause);
  });

  it.each(SILENCE_CAUSES.slice(0, -1).map((cause, place) => ({ cause, place })))(
    '$cause goes before all that come after it',
    ({ cause, place }) => {
      for (const later of SILENCE_CAUSES.slice(place + 1)) {
        const both = changed(PROOFS[later], PROOFS[cause]);
        if (TOGETHER.has(`${cause} ${later}`)) continue;
        expect(`${later}: ${causeOfSilence(both).cause}`).toBe(`${later}: ${cause}`);
      }
    },
  );

  const cases: [string, Change, SilenceCause][] = [
    ['running is the last answer', { running: seen(5), notRunning: seen(4) }, 'running'],
    ['a return in time is none of a late one', { returned: { atMs: after(60) } }, 'returned'],
    ['a key counts only while it is refused', { key: QUIET.key }, 'nothing_heard_since'],
    [
      'sent again after it had expired',
      { expiredMs: after(1), sentAgain: seen(2) },
      'nothing_heard_since',
    ],
    ['grains that still match', { grains: { matches: true } }, 'nothing_heard_since'],
    [
      'it answered that it does not run the job before it logged in',
      { notRunning: seen(4), logInsMs: [after(5)] },
      'not_running',
    ],
    [
      'it logged in before it answered that it does not run the job',
      { notRunning: seen(4), logInsMs: [after(3)] },
      'dropped_by_log_in',
    ],
    ['a log-in after the job was closed', { logInsMs: [after(61)] }, 'unknown'],
    [
      'a denied key of a minion that sends messages',
      { key: { state: 'accepted', denied: true }, messageAfterMs: after(8) },
      'unknown',
    ],
    ['never a message', { messageBeforeMs: undefined, logInsMs: [] }, 'not_heard_since'],
    [
      'its connection had ended before the job',
      { connection: { present: false, sinceMs: after(-1), goneMs: after(-1) } },
      'not_connected',
    ],
    [
      'its connection had ended before the job, and it came back later',
      {
        connection: { present: true, sinceMs: after(2), goneMs: after(-1) },
        messageAfterMs: after(3),
      },
      'not_connected',
    ],
    [
      'its connection ended after the job',
      { connection: { present: false, sinceMs: after(1), goneMs: after(1) } },
      'nothing_heard_since',
    ],
    [
      'it was connected all the time',
      { connection: { present: true, sinceMs: after(-9), goneMs: after(-20) } },
      'nothing_heard_since',
    ],
  ];
  it.each(cases)('%s', (_claim, evidence, cause) => {
    expect(causeOfSilence(changed(evidence)).cause).toBe(cause);
  });

  it('adds the connection where nothing else explains the silence', () => {
    const present = { present: true, sinceMs: after(-9), goneMs: 0 };
    const gone = { present: false, sinceMs: after(1), goneMs: after(1) };
    const textWith = (change: Change): string => causeOfSilence(changed(change)).text;
    expect(textWith({ connection: present })).toMatch(/; connected since 2026-11-22T11:51/);
    expect(textWith({ connection: gone })).toMatch(/; its connection ended at 2026-11-22T12:01/);
    const missed = { unansweredBefore: 1, connection: present };
    expect(textWith(missed)).not.toContain('not known');
    const unknownSince = { present: true, sinceMs: 0, goneMs: 0 };
    expect(textWith({ connection: unknownSince })).not.toContain('connected since');
  });

  it('has a text with its times', () => {
    const texts = SILENCE_CAUSES.map((cause) => {
      const { text } = causeOfSilence(changed(PROOFS[cause]));
      return `${cause}: ${text}`;
    });
    expect(texts).toMatchSnapshot();
  });
});

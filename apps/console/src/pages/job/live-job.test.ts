import { expect, test } from 'vitest';
import type { LiveMessage } from '../../live/message.ts';
import { countsByDeadline, NOTHING_LIVE, takeLive } from './live-job.ts';

const JID = '20261130101112131415';
const progress = (id: string, number: number, jid = JID): LiveMessage => ({
  event: 'progress',
  data: { jid, id, state: 'motd', result: true, number, of: 3 },
});
const AT = '2026-11-30T10:11:12.131415Z';
const returned = (id: string, state: 'returned' | 'failed' = 'returned', at = AT): LiveMessage => ({
  event: 'returns',
  data: [{ jid: JID, id, state, retcode: 0, at }],
});
const counted = (counts: { targeted: number; returned: number; failed: number } | null) =>
  ({
    event: 'job',
    data: { jid: JID, counts: counts && { ...counts, waiting: 0 }, closed: null },
  }) satisfies LiveMessage;

test('a minion runs states until it returns, and not again after that', () => {
  const began = takeLive(NOTHING_LIVE, JID, [progress('web1', 1), progress('web1', 2)]);
  expect(began.progress.get('web1')?.number).toBe(2);
  const ended = takeLive(began, JID, [returned('web1'), progress('web1', 3)]);
  expect(ended.progress.size).toBe(0);
});

test('the first return of a minion counts', () => {
  const live = takeLive(NOTHING_LIVE, JID, [returned('web1'), returned('web1', 'failed')]);
  expect(live.returns.get('web1')?.state).toBe('returned');
});

test('messages about other jobs change nothing', () => {
  expect(takeLive(NOTHING_LIVE, JID, [progress('web1', 1, '20261130000000000000')])).toEqual(
    NOTHING_LIVE,
  );
});

test('a flood of minions is bounded', () => {
  const flood = Array.from({ length: 10_100 }, (_one, at) => progress(`web${at}`, 1));
  const live = takeLive(NOTHING_LIVE, JID, flood);
  expect(live.progress.size).toBe(10_000);
  expect(live.progress.has('web10099')).toBe(true);
});

test('counts stay where another http-api does not count the job', () => {
  const before = takeLive(NOTHING_LIVE, JID, [counted({ targeted: 3, returned: 2, failed: 0 })]);
  expect(takeLive(before, JID, [counted(null)]).counts).toMatchObject({ returned: 2 });
});

test('returns after the deadline are late, where the page was there before it', () => {
  const deadline = '2026-11-30T10:11:20.000000Z';
  const after = '2026-11-30T10:11:21.000000Z';
  const live = takeLive(NOTHING_LIVE, JID, [
    returned('web1'),
    returned('web2', 'failed', after),
    counted({ targeted: 3, returned: 1, failed: 1 }),
  ]);
  const inTime = { targeted: 3, returned: 1, failed: 0, late: 1 };
  expect(countsByDeadline(live, deadline, Date.parse(AT))).toEqual(inTime);
  expect(countsByDeadline(live, deadline, Date.parse(after))).not.toHaveProperty('late');
  expect(countsByDeadline(live, null, Date.parse(AT))).toMatchObject({ failed: 1, late: 0 });
  expect(countsByDeadline(NOTHING_LIVE, deadline, Date.parse(AT))).toBeUndefined();
});

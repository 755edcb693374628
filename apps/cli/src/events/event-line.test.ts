import type { EventKind } from '@brine/job';
import type { PagedEvent } from '@brine/master';
import { mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { eventLine, jsonLine } from './event-line.ts';

const JID = '20261126030000000001';
const PLAIN = { color: false, data: false };

function eventOf(
  kind: EventKind,
  tag: string,
  data: Record<string, SaltValue>,
  minion?: string,
): PagedEvent {
  const timeMs = Date.UTC(2026, 10, 26, 3, 0, 1, 250);
  const event = { kind, tag, timeMs, position: '7-3_00000000', data: mapOf(data) };
  return minion === undefined ? event : { ...event, minion };
}

const returned = eventOf(
  'ret',
  `salt/job/${JID}/ret/web1`,
  { fun: 'test.ping', return: true, retcode: 0, success: true },
  'web1',
);

test('a line says when, what kind, which minion, which tag, and the gist', () => {
  expect(eventLine(returned, PLAIN)).toBe(
    `03:00:01.250 ret    web1                 salt/job/${JID}/ret/web1  test.ping True\n`,
  );
  const job = { fun: 'state.apply', tgt: 'web*', minions: ['web1', 'web2'] };
  expect(eventLine(eventOf('job', `salt/job/${JID}/new`, job), PLAIN)).toMatch(
    /^03:00:01\.250 job {4}- .*\/new {2}state\.apply web\* \(2 minions\)\n$/,
  );
  const key = eventOf('key', 'salt/key', { act: 'accepted', id: 'web9' });
  expect(eventLine(key, PLAIN)).toMatch(/ key {4}web9 .* salt\/key {2}accepted\n$/);
  const own = eventOf('local', 'site/x', { a: [1], _stamp: 'x' });
  expect(eventLine(own, PLAIN)).toMatch(/ site\/x {2}\{"a": \[1\]\}\n$/);
});

test('colours are there only where they are asked for, and failures have their own', () => {
  const sequences = (line: string): string[] => line.match(/\x1b\[[0-9;]*m/g) ?? [];
  expect(sequences(eventLine(returned, PLAIN))).toEqual([]);
  const good = sequences(eventLine(returned, { color: true, data: false }));
  const failed = { ...returned, data: mapOf({ fun: 'x.y', return: 'no', retcode: 2 }) };
  const bad = eventLine(failed, { color: true, data: false });
  expect(good.length).toBeGreaterThan(0);
  expect(sequences(bad)).not.toEqual(good);
  expect(bad).toContain('retcode 2 no');
});

test('what a minion sends can not reach the terminal as a sequence', () => {
  const evil = '\x1b[2J\x07\x9b1m\n\u202e';
  const event = eventOf('minion', `site/${evil}`, { text: evil }, `web${evil}`);
  for (const data of [false, true]) {
    const line = eventLine(event, { color: false, data });
    expect(line).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
    expect(line.split('\n')[0]).toContain('\\x1b[2J\\x07\\x9b1m\\x0a\\u202e');
  }
});

test('long texts are cut, all data are shown only on demand', () => {
  const long = eventOf('local', 'site/long', { text: 'x'.repeat(5_000) });
  expect(eventLine(long, PLAIN).length).toBeLessThan(220);
  expect(eventLine(long, { color: false, data: true }).length).toBeGreaterThan(5_000);
});

test('JSON has one object in a line, with the position to go on from', () => {
  const line = jsonLine({ ...returned, data: mapOf({ raw: Buffer.from([0xff]), n: 1 }) });
  expect(line.endsWith('}\n')).toBe(true);
  expect(line.trimEnd()).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    time: '2026-11-26T03:00:01.250000+00:00',
    position: '7-3_00000000',
    kind: 'ret',
    minion: 'web1',
    tag: `salt/job/${JID}/ret/web1`,
    data: { raw: '/w==', n: 1 },
  });
});

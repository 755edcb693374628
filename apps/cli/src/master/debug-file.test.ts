import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { debugText, writeDebugFile } from './debug-file.ts';

const BASE = { state: 'ready', pid: 42, healthPort: 1, restarts: 0 } as const;
const STARTED = { startedAt: '2026-11-26T10:00:00.000Z' };
const FACTS = {
  version: '0.2.0',
  own: { uptimeS: 5 },
  services: [
    { ...BASE, ...STARTED, name: 'publisher', dump: { stack: [], facts: { queue: 3 } } },
    { ...BASE, ...STARTED, name: 'worker-pool-1', dump: { stack: ['busy file:9', 'turn file:1'] } },
    { ...BASE, ...STARTED, name: 'req-gateway', dump: { stack: [] } },
    { ...BASE, name: 'event-bus', pid: undefined, startedAt: undefined },
  ],
};

test('the text says where each service is and what it has in hand', () => {
  const text = debugText({ ...FACTS, now: new Date(0) });
  expect(text).toMatch(/^Brine 0\.2\.0, 1970-01-01T00:00:00\.000Z\n\n== master, pid \d+\n/);
  expect(text).toContain('== publisher, ready, pid 42, since 2026-11-26T10:00:00.000Z, restarts 0');
  expect(text).toContain('stack: idle\n{\n  "queue": 3\n}');
  expect(text).toContain('stack, innermost first:\n  busy file:9\n  turn file:1\nno facts');
  expect(text).toContain('stack: outside of JavaScript\nno facts');
  expect(text).toContain('== event-bus, ready, pid -, since -, restarts 0\nstack: unknown');
});

test('it is for its owner alone, and only the newest files are kept', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-debug-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const paths = Array.from({ length: 7 }, (_, n) =>
    writeDebugFile(dir, { ...FACTS, now: new Date(1_000_000_000_000 + n) }),
  );
  expect(readdirSync(join(dir, 'debug'))).toHaveLength(5);
  const newest = paths.at(-1) ?? '';
  expect(readFileSync(newest, 'utf8')).toContain('== publisher');
  expect(statSync(newest).mode & 0o777).toBe(0o600);
});

import { expect, test } from 'vitest';
import { maintenanceLine } from './maintenance-line.ts';

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString();

test('each work is shown once, with the newest time that any service tells', () => {
  const services = [
    { status: { housekeeping: { purged: 1, ranAt: { streams: ago(40), 'job files': ago(200) } } } },
    { status: { ranAt: { streams: ago(5) }, requests: { done: 3 } } },
    { status: undefined },
  ];
  expect(maintenanceLine(services)).toBe('maintenance: job files 3m20s ago, streams 5s ago\n');
});

test('services that tell nothing have no line', () => {
  expect(maintenanceLine([{ status: { bus: 'connected' } }])).toBe('');
});

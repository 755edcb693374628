import { describe, expect, it } from 'vitest';
import { timeOfJid } from './jid-time.ts';

describe('timeOfJid', () => {
  it('is the time in the id', () => {
    expect(timeOfJid('20261130132703536139')).toBe('2026-11-30T13:27:03.536139Z');
  });

  it.each(['', 'req', '2026', '20269930132703536139'])('is none in %j', (jid) => {
    expect(timeOfJid(jid)).toBeNull();
  });
});

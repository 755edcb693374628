import { JidMaker } from '@brine/job';
import { describe, expect, test } from 'vitest';
import { createLog } from './log.ts';

const JID = new JidMaker().next(Date.UTC(2026, 10, 20, 17, 10, 37));

describe('log', () => {
  test("Salt's levels decide what is written, and secrets are left out", () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const log = createLog({ service: 's', level: 'warning', destination });
    log.info('quiet');
    log.warn({ jid: JID, minion: 'a', token: 'hush', load: { x: 1 } }, 'heard');
    createLog({ service: 's', level: 'quiet', destination }).fatal('nothing');
    expect(lines.length).toBe(1);
    const line = JSON.parse(lines[0]!);
    expect(line).toMatchObject({
      level: 'warn',
      service: 's',
      jid: JID,
      minion: 'a',
      msg: 'heard',
    });
    expect(lines[0]).not.toContain('hush');
    expect(line.load).toBe('[left out]');
  });
});

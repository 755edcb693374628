import { BrineMaster, OLDEST_SALT, SALT_VERSIONS, saltVenv } from '@brine/testing';
import { describe, expect, it } from 'vitest';
import { describeRealMinions } from './real-minions.ts';

// The oldest sends payloads of version 2, the others of version 3.
describeRealMinions(SALT_VERSIONS);

describe('a minion of payload version 2 under the default floor', () => {
  it('is refused with "bad load" and never becomes a waiting key', async () => {
    const venv = await saltVenv(OLDEST_SALT);
    await using master = await BrineMaster.start({ brine: { workers: 1 } });
    const home = await master.sandbox.minion('old', master.home.retPort);
    const minion = master.sandbox.startMinion(venv, home);
    await minion.waitForLog(/Sign-in attempt failed: bad load/, 60_000);
    const { stdout } = await master.brine('key', ['-L', '--out', 'json']);
    const keys = JSON.parse(stdout) as Record<string, readonly string[]>;
    expect(Object.values(keys).flat()).not.toContain('old');
  });
});

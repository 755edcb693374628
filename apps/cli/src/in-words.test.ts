import { BusError } from '@brine/bus';
import { ExchangeError, JobCacheError } from '@brine/job-cache';
import { RefusedError } from '@brine/master-host';
import { StoppedError } from '@brine/migration';
import { PkiError } from '@brine/pki';
import { HostTakenError } from '@brine/service/processes';
import { expect, test } from 'vitest';
import { inWords } from './in-words.ts';

test('an error of each system outside is one line with its name', () => {
  const lines = [
    new RefusedError('first stop it'),
    new BusError('BUS_REFUSED', 'no rights'),
    new JobCacheError('SALT_JOBCACHE_AWAY', 'away'),
    new ExchangeError(3, 'a bad jid'),
    new PkiError('SALT_PKI_UNREADABLE', 'not readable'),
  ].map((error) => inWords('migrate', error));
  expect(lines).toMatchObject([
    { code: 1, text: 'brine migrate: first stop it\n' },
    { code: 1, text: 'brine migrate: NATS: no rights\n' },
    { code: 1, text: 'brine migrate: PostgreSQL: away\n' },
    { code: 1, text: expect.stringMatching(/^brine migrate: the job cache: .*a bad jid/) },
    { code: 1, text: 'brine migrate: not readable\n' },
  ]);
});

test('what another process has ends the command with 4', () => {
  const taken = new HostTakenError(['port 4505 is taken', 'port 4506 is taken']);
  const text = 'brine backup: port 4505 is taken; port 4506 is taken\n';
  expect(inWords('backup', taken)).toMatchObject({ code: 4, text });
  const port = new RefusedError('port 4506 is taken', 'PORTS_TAKEN');
  expect(inWords('migrate', port)).toMatchObject({ code: 4 });
});

test('whatever fails while no master runs, the operator is told that', () => {
  const more = '. The stock master is stopped';
  for (const cause of [new ExchangeError(3, 'a bad jid'), new RangeError('too large')]) {
    const error = inWords('migrate', new StoppedError(more, { cause }));
    expect(error).toMatchObject({
      text: expect.stringMatching(/(a bad jid|too large).*is stopped\n$/s),
    });
  }
  const fault = new RangeError('too large');
  expect(inWords('migrate', fault)).toBe(fault);
});

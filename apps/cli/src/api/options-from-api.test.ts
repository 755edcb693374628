import { expect, test } from 'vitest';
import { optionsFromApi, optionsWithoutFile } from './options-from-api.ts';

test('the options of a master are taken, and those of this host are not', () => {
  const given = {
    id: 'far',
    timeout: 33,
    showJid: true,
    stateOutput: 'terse',
    brine: { exitCodes: 'stock', progress: false, python: '/evil', trace: 'full' },
  };
  const options = optionsFromApi(given, false);
  expect(options).toMatchObject({ id: 'far', timeout: 33, showJid: true, stateOutput: 'terse' });
  expect(options.brine).toMatchObject({
    exitCodes: 'stock',
    progress: false,
    python: '',
    trace: 'off',
  });
  expect(optionsFromApi(given, true).brine.exitCodes).toBe(optionsWithoutFile().brine.exitCodes);
});

test.each([undefined, null, 3, 'x', [], { timeout: 'long', color: 3, nosuch: 1, brine: 7 }])(
  'with %j the defaults stay',
  (given) => {
    const base = optionsWithoutFile();
    const { brine, ...options } = optionsFromApi(given, false);
    const { brine: baseBrine, ...baseOptions } = base;
    expect(options).toEqual(baseOptions);
    expect(brine).toEqual({ ...baseBrine, python: '', trace: 'off' });
  },
);

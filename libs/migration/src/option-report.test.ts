import { expect, test } from 'vitest';
import { optionReport, type OptionWarning } from './option-report.ts';

const KEY_PASS: OptionWarning = {
  kind: 'refused',
  option: 'keys.cache_driver',
  text: 'it stops',
  acceptedAs: ['keys.cache_driver'],
};
const THREADS: OptionWarning = { kind: 'unused', option: 'worker_threads', text: 'other workers' };

test('what Brine says of an option decides where it stands', () => {
  const written = { interface: '::', worker_threads: 8, 'keys.cache_driver': 'x', brine: {} };
  expect(optionReport(written, [KEY_PASS, THREADS])).toEqual({
    honoured: ['interface'],
    different: ['other workers'],
    breaks: ['it stops'],
  });
});

test('a loss that is accepted in our file breaks nothing', () => {
  const written = { 'keys.cache_driver': 'x' };
  const ours = { written, accepted: ['keys.cache_driver'] };
  const report = optionReport(written, [KEY_PASS], ours);
  expect(report).toEqual({ honoured: [], different: ['it stops'], breaks: [] });
});

test('an option that our file lacks, or sets to something else, is told', () => {
  const written = { timeout: 30, auto_accept: true, pki_dir: '/etc/salt/pki' };
  const ours = { written: { timeout: 5, pki_dir: '/srv/pki' }, accepted: [] };
  const { honoured, different } = optionReport(written, [], ours);
  expect(honoured).toEqual(['pki_dir']);
  expect(different).toHaveLength(2);
  expect(different[0]).toContain("Option 'timeout' has another value");
  expect(different[1]).toContain("Option 'auto_accept' is not set");
});

test('a warning that names no option is none of the report', () => {
  const named = [{ kind: 'missing', text: 'no directory' }];
  expect(optionReport({}, named)).toEqual({ honoured: [], different: [], breaks: [] });
});

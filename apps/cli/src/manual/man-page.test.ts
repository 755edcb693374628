import { expect, test } from 'vitest';
import { commandManuals } from '../command-line.ts';
import { manPages } from './man-page.ts';

const RELEASE = { version: '1.2.3', date: '2026-11-26' };

test('each command has a page, with all its options and their help', async () => {
  const manuals = await commandManuals();
  const pages = new Map(manPages(manuals, RELEASE).map(({ file, text }) => [file, text]));
  expect(pages.size).toBe(manuals.length + 1);
  for (const { name, form } of manuals) {
    const page = pages.get(`brine-${name.replaceAll(' ', '-')}.1`) ?? '';
    for (const option of form.groups.flatMap(({ options }) => options)) {
      expect(option.help, `${name} ${option.names.join()}`).not.toBe('');
      for (const flag of option.names) {
        expect(page, `${name} ${flag}`).toContain(`\\fB${flag.replaceAll('-', '\\-')}\\fR`);
      }
    }
    expect(pages.get('brine.1')).toContain(`\\fBbrine ${name.replaceAll('-', '\\-')}\\fR\n`);
  }
});

test('a page is what man reads: requests, bold names, values in italics, escaped signs', () => {
  const form = {
    prog: 'brine thing',
    usage: "[options] '<target>'",
    description: 'Does it.\n\n.hidden files too, a\\b.',
    version: '1',
    groups: [
      {
        title: 'Options',
        options: [
          { names: ['-n', '--number'], dest: 'count', kind: 'int' as const, help: "It's a count." },
          { names: ['--all'], dest: 'all', kind: 'flag' as const, help: 'All.' },
        ],
      },
      { title: 'Empty', options: [] },
    ],
  };
  const [overview, page] = manPages([{ name: 'thing', help: 'do it', form }], RELEASE);
  expect(page).toEqual({
    file: 'brine-thing.1',
    text: [
      '.TH BRINE-THING 1 "2026-11-26" "Brine 1.2.3" "Brine"',
      '.nh',
      '.ad l',
      '.SH "NAME"',
      'brine\\-thing \\- do it',
      '.SH "SYNOPSIS"',
      '\\fBbrine thing\\fR [options] \\(aq<target>\\(aq',
      '.SH "DESCRIPTION"',
      'Does it.',
      '.PP',
      '\\&.hidden files too, a\\eb.',
      '.SH "OPTIONS"',
      '.TP',
      '\\fB\\-n\\fR \\fICOUNT\\fR, \\fB\\-\\-number\\fR=\\fICOUNT\\fR',
      'It\\(aqs a count.',
      '.TP',
      '\\fB\\-\\-all\\fR',
      'All.',
      '.SH "SEE ALSO"',
      '\\fBbrine\\fR(1)',
      '',
    ].join('\n'),
  });
  expect(overview?.text).toContain('\\fBbrine thing\\fR\nDo it.\n');
});

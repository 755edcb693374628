import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { JinjaError, renderTemplate } from '@brine/jinja';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FILE_FILTERS } from './file-filters.ts';

let dir = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-filters-'));
  writeFileSync(join(dir, 'text'), 'some text\n');
  writeFileSync(join(dir, 'empty'), '');
  writeFileSync(join(dir, 'null'), 'a\0b');
  writeFileSync(join(dir, 'odd'), Buffer.from([1, 2, 3, 97, 98, 99, 100]));
  writeFileSync(join(dir, 'cut'), Buffer.from('ü'.repeat(300)));
  writeFileSync(join(dir, 'latin'), Buffer.from([0xe4, 0xf6, 97, 98, 99]));
  writeFileSync(join(dir, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  mkdirSync(join(dir, 'tree', 'below'), { recursive: true });
  writeFileSync(join(dir, 'tree', 'below', 'file'), '');
  symlinkSync('..', join(dir, 'tree', 'below', 'up'));
  symlinkSync('nowhere', join(dir, 'tree', 'broken'));
});

afterAll(() => rmSync(dir, { recursive: true }));

function shown(expression: string): string {
  const outside = { now: () => 0, random: () => 0, load: () => undefined, filters: FILE_FILTERS };
  const variables = new Map([['dir', dir]]);
  try {
    return renderTemplate(`{{ ${expression} }}`, { variables, outside }).replaceAll(dir, 'DIR');
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
    return `error: ${error.message.replaceAll(dir, 'DIR')}`;
  }
}

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const STAT = 'error: stat: path should be string, bytes, os.PathLike or integer, not';

// As stock Salt 3008.5 answers.
test.each([
  ["(dir ~ '/empty')|file_hashsum", EMPTY],
  ["(dir ~ '/empty')|file_hashsum('md5')", 'd41d8cd98f00b204e9800998ecf8427e'],
  ["(dir ~ '/empty')|file_hashsum(form='sha1')", 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
  [
    "(dir ~ '/empty')|file_hashsum('sha3_256')",
    'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a',
  ],
  ["(dir ~ '/text')|file_hashsum('nope')", 'error: Invalid hash type: nope'],
  ["'/nonexistent'|file_hashsum", "error: [Errno 2] No such file or directory: '/nonexistent'"],
  ["'/'|file_hashsum", "error: [Errno 21] Is a directory: '/'"],
  ['none|file_hashsum', 'error: expected str, bytes or os.PathLike object, not NoneType'],
  ["(dir ~ '/a\\0b')|file_hashsum", 'error: embedded null byte'],
  ["(dir ~ '/empty')|is_empty", 'True'],
  ["(dir ~ '/text')|is_empty", 'False'],
  ["'/nonexistent'|is_empty", 'False'],
  ["(dir ~ '/text/x')|is_empty", 'False'],
  ['none|is_empty', `${STAT} NoneType`],
  ['[1]|is_empty', `${STAT} list`],
  ["(dir ~ '/text')|is_text_file", 'True'],
  ["(dir ~ '/empty')|is_text_file", 'True'],
  ["(dir ~ '/null')|is_text_file", 'False'],
  ["(dir ~ '/odd')|is_text_file", 'False'],
  ["(dir ~ '/cut')|is_text_file", 'True'],
  ["(dir ~ '/cut')|is_text_file(3)", 'True'],
  ["(dir ~ '/latin')|is_text_file", 'False'],
  ["'/nonexistent'|is_text_file", 'False'],
  ["'/'|is_text_file", 'False'],
  ["(dir ~ '/text')|is_bin_file", 'False'],
  ["(dir ~ '/null')|is_bin_file", 'True'],
  ["(dir ~ '/odd')|is_bin_file", 'True'],
  ["'/'|is_bin_file", 'False'],
  ["(dir ~ '/text/x')|is_bin_file", 'False'],
  ["(dir ~ '/a\0b')|is_bin_file", 'False'],
  ["(dir ~ '/a\0b')|which", 'None'],
  ["(dir ~ '/a\0b')|is_empty", 'error: embedded null byte'],
  ["'/nonexistent'|is_bin_file", 'False'],
  ['none|is_bin_file', `${STAT} NoneType`],
  [
    "(dir ~ '/tree')|list_files|sort",
    "['DIR/tree', 'DIR/tree/below', 'DIR/tree/below/file', 'DIR/tree/below/up', 'DIR/tree/broken']",
  ],
  ["'/nonexistent'|list_files", "['/nonexistent']"],
  ['none|list_files', `${STAT} NoneType`],
  ["(dir ~ '/tool')|which", 'DIR/tool'],
  ["(dir ~ '/text')|which", 'None'],
  ["'sh'|which", '/usr/bin/sh'],
  ["'no-such-tool'|which", 'None'],
  ["''|which", 'None'],
  ['none|which', 'None'],
  ["'root'|get_uid", '0'],
  ["'nobody-there'|get_uid", 'None'],
  ["'0'|get_uid", 'None'],
  ['none|get_uid', String(userInfo().uid)],
  ['5|get_uid', 'error: getpwnam() argument must be str, not int'],
  ['nope|get_uid', 'error: getpwnam() argument must be str, not StrictUndefined'],
  ['nope|is_empty', `${STAT} StrictUndefined`],
  ['nope|which', "error: 'nope' is undefined"],
])('%s', (expression, answer) => {
  expect(shown(expression)).toBe(answer);
});

test('a pipe is not waited for', () => {
  expect(shown("(dir ~ '/pipe')|is_text_file")).toBe('True');
  expect(shown("(dir ~ '/pipe')|file_hashsum")).toBe(
    "error: file_hashsum: 'DIR/pipe' is no regular file",
  );
});

test('a device that never ends is not hashed', () => {
  expect(shown("'/dev/zero'|file_hashsum")).toBe(
    "error: file_hashsum: '/dev/zero' is no regular file",
  );
});

test('a file that is larger than memory would allow is hashed in pieces', () => {
  truncateSync(join(dir, 'empty'), 300 * 1024 * 1024);
  const before = process.memoryUsage().rss;
  expect(shown("(dir ~ '/empty')|file_hashsum('sha1')")).toHaveLength(40);
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  truncateSync(join(dir, 'empty'), 0);
});

import { expect, test } from 'vitest';
import { tagFilter } from './tag-filter.ts';

const TAGS = ['salt/job/1/new', 'salt/job/1/ret/m1', 'salt/auth', 'my/tag'];

// As Salt 3008.2 judges them (salt/utils/event.py EventReturn._filter).
test.each([
  [[], [], TAGS],
  [['salt/*'], [], TAGS.slice(0, 3)],
  [['salt/job/*/ret/*', 'my/?ag'], [], ['salt/job/1/ret/m1', 'my/tag']],
  [[], ['*/ret/*'], ['salt/job/1/new', 'salt/auth', 'my/tag']],
  [['salt/job/*'], ['*/new'], ['salt/job/1/ret/m1']],
  [['nothing'], [], []],
  [['salt/job/[!0]/*'], ['salt/job/[12]/new'], ['salt/job/1/ret/m1']],
])('white %j and black %j', (white, black, kept) => {
  expect(TAGS.filter(tagFilter(white, black))).toEqual(kept);
});

test('a tag that takes too much work to compare matches nothing', () => {
  const costly = `${'a?'.repeat(400)}*b*${'a?'.repeat(400)}*b`;
  const tag = 'a'.repeat(60_000);
  expect(tagFilter([costly], [])(tag)).toBe(false);
  expect(tagFilter([], [costly])(tag)).toBe(true);
});

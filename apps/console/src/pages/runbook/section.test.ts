import { readdirSync, readFileSync } from 'node:fs';
import { runbookOf } from '@brine/operations/findings';
import { describe, expect, test } from 'vitest';
import { placeIn, sectionOf } from './section.ts';

const DOCS = new URL('../../../../../docs/', import.meta.url);
const HERE = readFileSync(new URL('pages.ts', import.meta.url), 'utf8');
const SERVED = /\{([a-z,-]+)\}\.md/.exec(HERE)?.[1]?.split(',') ?? [];

const PAGE = `# Outages

Read this.

## A service hangs

It \`hangs\`, see [the other](other.md#x).
Restart it:

\`\`\`sh
# not a heading
brine restart
\`\`\`

### Then

| sign | do |
| --- | --- |
| a \\| b | **wait** |

## Clocks

- one
- two
`;

describe('a section', () => {
  test('is from its heading to the next one of its level, with its texts plain', () => {
    expect(sectionOf(PAGE, 'a-service-hangs')).toEqual([
      { is: 'heading', text: 'A service hangs' },
      { is: 'text', text: 'It hangs, see the other. Restart it:' },
      { is: 'code', text: '# not a heading\nbrine restart' },
      { is: 'heading', text: 'Then' },
      {
        is: 'table',
        rows: [
          ['sign', 'do'],
          ['a \\| b', 'wait'],
        ],
      },
    ]);
    expect(sectionOf(PAGE, 'clocks')).toEqual([
      { is: 'heading', text: 'Clocks' },
      { is: 'text', text: '- one\n- two' },
    ]);
  });

  test.each(['', 'not-a-heading', 'no-such'])('is the whole page for %j', (anchor) => {
    expect(sectionOf(PAGE, anchor)[0]).toEqual({ is: 'heading', text: 'Outages' });
    expect(sectionOf(PAGE, anchor).at(-1)).toEqual({ is: 'text', text: '- one\n- two' });
  });
});

test.each([
  'outages.md',
  '/srv/docs/x.md',
  'docs/../x.md',
  'docs/x.md#<img>',
  'https://x/docs/x.md',
])('%j is no place', (text) => {
  expect(placeIn(text)).toBeUndefined();
});

describe('the place of each check', () => {
  const checks = ['services', 'disk', 'stream', 'postgres', 'quarantine', 'clock', 'certificates'];
  const findings = readFileSync(new URL('../overview/findings.ts', import.meta.url), 'utf8');
  const own = [...findings.matchAll(/'(docs\/[^']+)'/g)].map(([, place = '']) => place);
  const places = [...checks, 'private-files', 'other'].map(runbookOf).concat(own);

  test.each([...new Set(places)])('%s is a section that the console has', (text) => {
    const { page = '', anchor = '' } = placeIn(text) ?? {};
    expect(SERVED).toContain(page);
    expect(readdirSync(DOCS)).toContain(`${page}.md`);
    const markdown = readFileSync(new URL(`${page}.md`, DOCS), 'utf8');
    const [first] = sectionOf(markdown, anchor);
    const [title] = sectionOf(markdown, '');
    expect(first?.is).toBe('heading');
    if (anchor !== '') expect(first).not.toEqual(title);
  });
});

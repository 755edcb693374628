import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runbookOf } from './runbook.ts';

const ROOT = new URL('../../../../', import.meta.url);

test.each([
  'services',
  'disk-files',
  'stream-room',
  'postgres-tables',
  'quarantine',
  'clock-skew',
  'certificates',
  'private-files',
  'an_option_of_the_site',
])('the runbook of %s is in the documentation', (check) => {
  const [path = '', anchor] = runbookOf(check).split('#');
  const headings = [...readFileSync(new URL(path, ROOT), 'utf8').matchAll(/^#+ (.+)$/gm)];
  const anchors = headings.map(([, text = '']) => text.toLowerCase().replaceAll(' ', '-'));
  if (anchor !== undefined) expect(anchors).toContain(anchor);
});

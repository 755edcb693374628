import { expect, test } from 'vitest';
import { errorPage } from './error-page.ts';

test('the status is in h2 and the text in p, where clients of Salt look for them', () => {
  const page = errorPage(401, 'Could not authenticate using provided credentials');
  expect(page).toContain('<title>401 Unauthorized</title>');
  expect(page).toContain('<h2>401 Unauthorized</h2>');
  expect(page).toContain('<p>Could not authenticate using provided credentials</p>');
});

test.each([
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '</p></body><iframe>',
  '&lt;b&gt;',
])('%s is shown as text', (text) => {
  const page = errorPage(404, text);
  const shown = /<p>(.*)<\/p>/s.exec(page)?.[1] ?? '';
  expect(shown).not.toMatch(/[<>]/);
  expect(shown).toContain('&');
});

test('a status without a text has that of CherryPy, and an unknown one a page', () => {
  expect(errorPage(405, '')).toContain('<p>Specified method is invalid for this resource</p>');
  expect(errorPage(499, '')).toContain('<h2>499 Error</h2>');
});

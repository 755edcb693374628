import { expect, test } from 'vitest';
import { JinjaError } from './errors.ts';
import { fileOptions } from './file-options.ts';
import { renderTemplate } from './render.ts';

// Salt 3008.5's treatment of a head is in test/fixtures/jinja/rules/file-options.json.

const outside = { now: () => 0, random: () => 0, load: () => undefined };
const TEMPLATE = '#jinja2: {"trim_blocks": true}\n{% if 1 %}\nb\n{% endif %}\n';

test.each([
  ['{"variable_start_string": "[["}', 'variable_start_string'],
  ['{"line_statement_prefix": "#"}', 'line_statement_prefix'],
  ['{"trim_blocks": []}', 'trim_blocks'],
  ['{"lstrip_blocks": {"a": 1}}', 'lstrip_blocks'],
])('an option that is not served is no silence: %s', (head, name) => {
  const refused = (): unknown => fileOptions(`#jinja2: ${head}\nx`);
  expect(refused).toThrow(JinjaError);
  expect(refused).toThrow(`the option ${name} of #jinja2: is not served`);
});

test.each([
  ['#jinja2: trim', "Ignoring malformed '#jinja2:' header in template: #jinja2: trim"],
  ['#jinja2: [1]', "Ignoring '#jinja2:' header that is not a JSON object: #jinja2: [1]"],
  ['#jinja2: {"Nope": 1}', 'Jinja2 environment nope is not recognized'],
])('%s is logged with the text of Salt', (head, text) => {
  const logged: string[] = [];
  const warn = (line: string): void => void logged.push(line);
  renderTemplate(`${head}\r\nx`, { variables: new Map(), outside, warn });
  expect(logged).toEqual([text]);
});

test('where heads are text, as in saltclass, one is text', () => {
  const options = { variables: new Map(), outside, takesFileOptions: false };
  expect(renderTemplate(TEMPLATE, options)).toBe('#jinja2: {"trim_blocks": true}\n\nb\n\n');
});

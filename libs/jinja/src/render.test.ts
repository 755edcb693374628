import { describe, expect, test } from 'vitest';
import type { JinjaError } from './errors.ts';
import { type RenderOptions, renderTemplate } from './render.ts';

const outside = { now: () => 0, random: () => 0, load: () => undefined };

function render(template: string, options: Partial<RenderOptions> = {}): string {
  return renderTemplate(template, { variables: new Map(), outside, ...options });
}

// Jinja 3.1's results; Salt then adds the line end that Jinja took from the end.
describe('white space around tags: as it is, trim_blocks, lstrip_blocks, both', () => {
  test.each([
    [
      'a\n  {% if 1 %}\nb\n  {% endif %}\nc',
      ['a\n  \nb\n  \nc', 'a\n  b\n  c', 'a\n\nb\n\nc', 'a\nb\nc'],
    ],
    ['  {{ 1 }}\n{# c #}\nx', ['  1\n\nx', '  1\nx', '  1\n\nx', '  1\nx']],
    ['a  {% if 1 %}b{% endif %}\nc', ['a  b\nc', 'a  bc', 'a  b\nc', 'a  bc']],
    ['{%+ if 1 %}\nb{% endif +%}\nc', ['\nb\nc', 'b\nc', '\nb\nc', 'b\nc']],
    ['  {%+ if 1 %}x{% endif %}', ['  x', '  x', '  x', '  x']],
    ['{% raw %}\n a\n{% endraw %}\nb', ['\n a\n\nb', '\n a\nb', '\n a\n\nb', '\n a\nb']],
    ['  {#- c -#}\n  b', ['b', 'b', 'b', 'b']],
    ['{% if 1 -%}\n\n b\n{%- endif %}\n\nc', ['b\n\nc', 'b\nc', 'b\n\nc', 'b\nc']],
  ])('%j', (template, shown) => {
    const all = [false, true].flatMap((lstripBlocks) =>
      [false, true].map((trimBlocks) => render(template, { trimBlocks, lstripBlocks })),
    );
    expect(all).toEqual(shown);
  });

  test.each([
    ['without the option Salt adds the last line end again', {}],
    ['with keep_trailing_newline Jinja keeps it', { keepTrailingNewline: true }],
  ])('%s, and only one', (_rule, options) => {
    expect(render('a\n\n', options)).toBe('a\n\n');
    expect(render('a', options)).toBe('a');
  });
});

describe('with allow_undefined', () => {
  const lenient = { allowUndefined: true };

  test.each([
    ['[{{ nope }}]', '[]'],
    ["{{ nope|default('d') }}", 'd'],
    ['{% for i in nope %}x{% endfor %}-', '-'],
    ['{{ 1 if nope else 2 }}', '2'],
    ['{{ nope == 1 }}', 'False'],
    ['{{ nope == nada }}', 'True'],
    ['{{ nope in [1] }}', 'False'],
    ['{{ 1 in nope }}', 'False'],
    ['{{ nope|length }}', '0'],
    ["{{ nope ~ 'a' }}", 'a'],
    ['{{ {}.a }}-', '-'],
    ['{{ nope|join }}-', '-'],
    ['{{ [1][5] }}-', '-'],
    ['{{ nope|list }}', '[]'],
  ])('%s gives %j', (template, shown) => {
    expect(render(template, lenient)).toBe(shown);
  });

  test.each(['nope.a', 'nope + 1', 'nope()', 'nope < 1', 'nope[0]', '-nope', 'nope|int'])(
    '%s fails all the same',
    (expression) => {
      const error = expect.objectContaining({ kind: 'Undefined', message: "'nope' is undefined" });
      expect(() => render(`{{ ${expression} }}`, lenient)).toThrow(error as JinjaError);
    },
  );
});

describe('names of templates', () => {
  const files = new Map([
    ['a/b/c.jinja', '{{ tplfile }} {{ tpldir }} {{ tpldot }}'],
    ['a/up.jinja', "{% include '../top.jinja' %}"],
    ['a/out.jinja', "{% include '../../top.jinja' %}"],
    ['top.jinja', 'top'],
  ]);
  const load = (name: string): string | undefined => files.get(name);
  const include = (name: string): string =>
    render(`{% include '${name}' without context %}`, { outside: { ...outside, load } });

  test.each([
    ['a file below directories', 'a/b/c.jinja', 'a/b/c.jinja a/b a.b'],
    ['a path that goes up', 'a/up.jinja', 'top'],
  ])('%s', (_rule, name, shown) => {
    expect(include(name)).toBe(shown);
  });

  test('no path leads above the root', () => {
    const error = expect.objectContaining({ kind: 'TemplateNotFound' });
    expect(() => include('a/out.jinja')).toThrow(error as JinjaError);
  });
});

// Each with the text of Jinja 3.1.6.
test.each([
  ['{{ ', "unexpected 'end of template'"],
  ["{{ a 'b' }}", "expected token 'end of print statement', got 'string'"],
  ['{{ [1 2.5] }}', "expected token ',', got 'float'"],
  ['{% if 1:: %}{% endif %}', "expected token 'end of statement block', got ':'"],
  ["{% include 'x' with %}", "expected token 'end of statement block', got 'with'"],
])('%s is an error in the text of Jinja', (template, message) => {
  expect(() => render(template)).toThrow(expect.objectContaining({ kind: 'Syntax', message }));
});

test('a tag with a body may end in a colon', () => {
  const loop = '{% for i in [1, 2]: %}{{ i }}{% else: %}none{% endfor %}';
  expect(render(`{% if 0: %}a{% elif 1: %}${loop}{% endif %}`)).toBe('12');
});

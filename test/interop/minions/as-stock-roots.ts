/* The roots of as-stock.deep.test.ts: states, files and pillar by their paths. */

/** Below `file_roots`. */
export const STATES: Record<string, string> = {
  'top.sls': `base:
  '*':
    - app
  'I@role:web and G@kernel:Linux':
    - match: compound
    - app.web
  'role:nobody':
    - match: pillar
    - app.never
`,
  'app/init.sls': `{% from 'app/map.jinja' import app with context %}
include:
  - app.base
managed:
  file.managed:
    - name: {{ grains['brine_out'] }}/managed
    - source: salt://app/managed.jinja
    - template: jinja
    - context:
        word: {{ app.word }}
    - mode: '0640'
    - require:
      - file: tree
script:
  cmd.script:
    - source: salt://app/script.sh
    - args: "{{ grains['brine_out'] }}/scripted"
    - require:
      - file: managed
changed:
  cmd.run:
    - name: echo managed has changed
    - onchanges:
      - file: managed
watched:
  test.succeed_with_changes:
    - watch:
      - file: managed
listened:
  test.nop:
    - listen:
      - file: managed
never:
  cmd.run:
    - name: echo never
    - unless: test -d /
`,
  'app/map.jinja': `{% import_yaml 'app/defaults.yaml' as defaults %}
{% set app = salt['grains.filter_by']({'default': defaults}, merge=salt['pillar.get']('app')) %}
`,
  'app/defaults.yaml': 'word: by default\nport: 80\n',
  'app/base.sls': `tree:
  file.recurse:
    - name: {{ grains['brine_out'] }}/tree
    - source: salt://app/tree
    - include_empty: True
`,
  'app/web.sls': `include:
  - app
extend:
  managed:
    file:
      - mode: '0600'
fails:
  test.fail_without_changes:
    - name: as it should
rescued:
  test.succeed_without_changes:
    - onfail:
      - test: fails
not-reached:
  test.succeed_without_changes:
    - require:
      - test: fails
`,
  'app/managed.jinja': `{{ word }} {{ grains['id'] }} {{ pillar['app']['port'] }}
{%- for who, said in salt['mine.get']('as-stock-*', 'said')|dictsort %}
{{ who }}: {{ said }}
{%- endfor %}
{{ salt['pillar.get']('nested:deep:list')|join('+') }}
`,
  'app/script.sh': '#!/bin/sh\nprintf ran > "$1"\necho out\necho err >&2\n',
  'app/tree/one': 'one\n',
  'app/tree/deep/two': 'two\n',
  '_modules/brine_probe.py': 'def answer():\n    return __pillar__["app"]["word"]\n',
  'only.txt': 'plain\n',
};

/** Below `pillar_roots`: `base` and `broken`. */
export const PILLAR: Record<string, string> = {
  'base/top.sls': `base:
  '*':
    - app
    - nested.*
  'kernel:Linux':
    - match: grain
    - linux
  'N@olds':
    - old
  'E@as-stock-3008.*':
    - match: compound
    - role.web
`,
  'base/app/init.sls': `{% set port = 8000 + grains['id']|length %}
include:
  - app.more:
      defaults:
        size: 9
      key: app:more
app:
  word: "of {{ grains['id'] }}"
  port: {{ port }}
`,
  'base/app/more.sls': 'size: {{ size }}\nratio: 1.5\nnothing: null\n',
  'base/nested/one.sls': 'nested:\n  deep:\n    list: [a, b]\n    one: 1\n',
  'base/nested/two.sls': 'nested:\n  deep:\n    list: [c]\n    two: {{ grains.kernel|yaml }}\n',
  'base/linux.sls': '#!jinja|json\n{"os": "{{ grains[\'kernel\'] }}", "ünï": [true, null]}\n',
  'base/old.sls': 'old: true\n',
  'base/role/web.sls': 'role: web\n',
  'broken/broken.sls': 'a: {{ nothing_of_this_name }}\n',
  // Without pillarenv all environments count.
  'broken/top.sls': `{% if opts['pillarenv'] == 'broken' %}
broken:
  '*':
    - broken
    - missing
{% endif %}
`,
};

/** Options of the master, the same for both. */
export const MASTER = {
  nodegroups: { olds: 'E@as-stock-3006.*' },
  peer: { 'as-stock-.*': ['test\\..*'] },
  peer_run: { 'as-stock-.*': ['pillar\\.', 'test\\.'] },
  ext_pillar: [{ cmd_json: 'echo \'{"who": "%s", "nested": {"ext": [1, 2]}}\'' }],
  file_recv: true,
  timeout: 30,
};

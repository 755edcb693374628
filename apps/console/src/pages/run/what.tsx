import { Autocomplete, Group, NativeSelect, Switch, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { functionQuery, functionsQuery } from '../../api/run.ts';
import { FIXED } from '../../parts/fixed-text.ts';
import { GivenLines } from '../../parts/given.tsx';
import { Panel, Sourced } from '../../parts/panel.tsx';
import { asTest, isTest, takesTest, withoutTest } from '../../state/run/arguments-form.ts';
import type { RunCommand, RunOf } from '../../state/run/run-command.ts';
import { Arguments } from './arguments.tsx';

const TYPING_MS = 200;

interface WhatProps {
  readonly command: RunCommand;
  readonly onChange: (part: Partial<RunCommand>) => void;
  /** What the user may run at all. */
  readonly kinds: readonly RunOf[];
}

const KINDS: Readonly<Record<RunOf, string>> = {
  module: 'On minions',
  runner: 'Runner, on the master',
  wheel: 'Wheel, on the master',
};

/** The function and its arguments. */
export function What({ command, onChange, kinds }: WhatProps) {
  const { of, fun, arg } = command;
  const [typed] = useDebouncedValue(fun, TYPING_MS);
  const offered = useQuery(functionsQuery(of, typed));
  const names = new Set(offered.data?.items.map(({ name }) => name));
  // A name that is not offered has no documentation: to ask for it would be an error.
  const one = useQuery(functionQuery(of, names.has(typed) ? typed : ''));
  const doc = one.data?.name === fun ? one.data : undefined;
  return (
    <Panel title={of === 'module' ? '2 What' : 'What'}>
      <Group align="end" gap="sm">
        {kinds.length > 1 && (
          <NativeSelect
            label="Where"
            value={of}
            data={kinds.map((value) => ({ value, label: KINDS[value] }))}
            onChange={({ currentTarget }) => onChange({ of: currentTarget.value as RunOf })}
          />
        )}
        <Autocomplete
          label="Function"
          placeholder={of === 'module' ? 'state.apply' : 'manage.status'}
          value={fun}
          data={[...names]}
          limit={20}
          onChange={(value) => onChange({ fun: value.trim() })}
          styles={FIXED}
          flex={1}
          miw="min(16rem, 100%)"
          spellCheck={false}
        />
        {of === 'module' && takesTest(fun) && (
          <Switch
            label="test: show what would change, change nothing"
            checked={isTest(arg)}
            onChange={({ currentTarget }) =>
              onChange({ arg: currentTarget.checked ? asTest(arg) : withoutTest(arg) })
            }
          />
        )}
      </Group>
      {offered.data?.complete === false && (
        <Text size="sm" c="dimmed">
          No minion has described its functions yet. You can type any name.
        </Text>
      )}
      <Arguments
        words={arg}
        parameters={doc?.parameters ?? []}
        onChange={(words) => onChange({ arg: words })}
      />
      {one.isSuccess && doc !== undefined && (
        <Sourced source={one}>
          <details>
            <summary>
              Documentation of <code>{doc.name}</code>
            </summary>
            <GivenLines text={doc.doc === '' ? 'It has none.' : doc.doc} />
          </details>
        </Sourced>
      )}
    </Panel>
  );
}

import { Group, SegmentedControl, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Panel } from '../../parts/panel.tsx';
import type { RunCommand } from '../../state/run/run-command.ts';

interface HowProps {
  readonly command: RunCommand;
  readonly onChange: (part: Partial<RunCommand>) => void;
}

/** Minions at a time in a batch, if one has not chosen yet. */
const USUAL_SIZE = '10%';
const NO_BATCH = { size: '', canary: '', halt: '', wait: '', failhard: false };

const BATCH = [
  { name: 'size', label: 'Minions at a time', example: '10 or 25%' },
  { name: 'canary', label: 'Canary: these first', example: '5' },
  { name: 'halt', label: 'Stop above failures', example: '2%' },
  { name: 'wait', label: 'Wait, seconds', example: '0' },
] as const;

/** At once or in a batch, and for how long. */
export function How({ command, onChange }: HowProps) {
  // The size may be empty while one types another one.
  const [isChosen, choose] = useState(false);
  const isBatch = isChosen || command.size !== '';
  const pick = (value: string): void => {
    choose(value === 'batch');
    onChange(value === 'batch' ? { size: USUAL_SIZE, durable: '' } : NO_BATCH);
  };
  return (
    <Panel title="3 How">
      <Group align="end" gap="sm">
        <SegmentedControl
          aria-label="At once or in a batch"
          value={isBatch ? 'batch' : 'once'}
          data={[
            { value: 'once', label: 'At once' },
            { value: 'batch', label: 'In a batch' },
          ]}
          onChange={pick}
        />
        {isBatch &&
          BATCH.map(({ name, label, example }) => (
            <TextInput
              key={name}
              label={label}
              placeholder={example}
              w={150}
              value={command[name]}
              onChange={({ currentTarget }) => onChange({ [name]: currentTarget.value.trim() })}
            />
          ))}
        {isBatch && (
          <Switch
            label="Stop at the first failure"
            checked={command.failhard}
            onChange={({ currentTarget }) => onChange({ failhard: currentTarget.checked })}
          />
        )}
        {!isBatch && (
          <TextInput
            label="Durable, seconds"
            description="Sent again to minions that are away"
            w={230}
            value={command.durable}
            onChange={({ currentTarget }) => onChange({ durable: currentTarget.value.trim() })}
          />
        )}
        <TextInput
          label="Deadline, seconds"
          description="After it a silent minion counts as never"
          w={260}
          value={command.deadline}
          onChange={({ currentTarget }) => onChange({ deadline: currentTarget.value.trim() })}
        />
      </Group>
    </Panel>
  );
}

import { Button, Group, Text, TextInput } from '@mantine/core';
import { type SubmitEvent, useState } from 'react';
import { FIXED } from '../../parts/fixed-text.ts';
import { commandLine, parseCommand, type RunCommand } from '../../state/run/run-command.ts';

interface CommandFieldProps {
  readonly command: RunCommand;
  readonly onChange: (command: RunCommand) => void;
}

/** The equal command line, and a way to give another one. */
export function CommandField({ command, onChange }: CommandFieldProps) {
  const [typed, setTyped] = useState<string>();
  const [note, setNote] = useState<string>();
  const line = command.fun === '' ? '' : commandLine(command);
  const text = typed ?? line ?? `wheel.${command.fun}`;
  const take = (event: SubmitEvent): void => {
    event.preventDefault();
    const parsed = parseCommand(text);
    if (parsed.kind === 'problem') return setNote(parsed.text);
    setTyped(undefined);
    setNote(parsed.left.length === 0 ? undefined : `Left out here: ${parsed.left.join(' ')}`);
    onChange(parsed.command);
  };
  return (
    <form onSubmit={take} aria-label="Command line">
      <Group align="end" gap="xs" wrap="nowrap">
        <TextInput
          label="The same as a command line"
          placeholder="salt -C 'G@os:Debian' state.apply nginx test=True"
          value={text}
          onChange={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setNote(undefined);
          }}
          error={typed === undefined ? undefined : note}
          styles={FIXED}
          flex={1}
          spellCheck={false}
          autoComplete="off"
        />
        <Button type="submit" variant="default" disabled={typed === undefined}>
          Take it
        </Button>
        {typed !== undefined && (
          <Button
            variant="default"
            onClick={() => {
              setTyped(undefined);
              setNote(undefined);
            }}
          >
            Undo
          </Button>
        )}
      </Group>
      {typed === undefined && note !== undefined && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
      {line === undefined && (
        <Text size="sm" c="dimmed">
          No command of Salt runs wheels. SaltGUI writes them like this.
        </Text>
      )}
    </form>
  );
}

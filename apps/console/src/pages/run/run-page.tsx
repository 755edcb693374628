import { Group, NativeSelect, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { resolveQuery, templatesQuery } from '../../api/run.ts';
import { meQuery } from '../../api/session.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { mayReachMaster } from '../../state/rights.ts';
import {
  commandLine,
  NO_COMMAND,
  parseCommand,
  type RunCommand,
  type RunOf,
  TARGET_KINDS,
} from '../../state/run/run-command.ts';
import { targetOf } from '../../state/run/run-request.ts';
import { CommandField } from './command-field.tsx';
import { How } from './how.tsx';
import { Send } from './send.tsx';
import { useRun } from './use-run.ts';
import { What } from './what.tsx';
import { Who } from './who.tsx';

/** What will this touch? */
export function RunPage() {
  const { command, change, dry, setDry, settled } = useRun();
  const isModule = command.of === 'module';
  const resolved = useQuery(resolveQuery(isModule ? targetOf(settled) : undefined, settled.fun));
  const isFresh = isSameTarget(command, settled) && !resolved.isPending;
  const me = useQuery(meQuery);
  const kinds: readonly RunOf[] = [
    'module',
    ...(['runner', 'wheel'] as const).filter(
      (kind) => me.data !== undefined && mayReachMaster(me.data, kind),
    ),
  ];
  const line = command.fun === '' ? undefined : commandLine(command);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Run</Title>
        <Group>
          <TemplateMenu onChoose={change} />
          <CopyMenu
            path={isModule ? '/jobs' : '/runs'}
            {...(line === undefined ? {} : { command: line })}
          />
        </Group>
      </Group>
      {isModule && (
        <Who command={command} onChange={change} resolved={resolved} isFresh={isFresh} />
      )}
      <What command={command} onChange={change} kinds={kinds} />
      {isModule && <How command={command} onChange={change} />}
      <CommandField command={command} onChange={change} />
      <Send
        key={command.of}
        command={command}
        expected={isFresh && !resolved.isError ? resolved.data : undefined}
        dry={dry}
        onDry={setDry}
      />
    </Stack>
  );
}

function isSameTarget(one: RunCommand, other: RunCommand): boolean {
  return one.tgt === other.tgt && one.tgtType === other.tgtType && one.fun === other.fun;
}

/** Commands that the operator has prepared. */
function TemplateMenu({ onChoose }: { readonly onChoose: (command: RunCommand) => void }) {
  const templates = useQuery(templatesQuery);
  const items = templates.data?.items ?? [];
  if (items.length === 0) return null;
  const choose = (name: string): void => {
    const template = items.find((one) => one.name === name);
    if (template === undefined) return;
    const { command, target, targetType } = template;
    const isOfMaster = /^(runners|wheel)\./.test(command);
    const parsed = parseCommand(isOfMaster ? command : `salt -- x ${command}`);
    const tgtType = TARGET_KINDS.find(({ type }) => type === targetType)?.type ?? 'glob';
    if (parsed.kind === 'problem') return onChoose({ ...NO_COMMAND, tgt: target, tgtType });
    onChoose(isOfMaster ? parsed.command : { ...parsed.command, tgt: target, tgtType });
  };
  return (
    <NativeSelect
      aria-label="Templates"
      size="xs"
      value=""
      data={[
        { value: '', label: 'From a template…' },
        ...items.map(({ name, description }) => ({
          value: name,
          label: description === '' ? name : `${name}: ${description}`,
        })),
      ]}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    />
  );
}

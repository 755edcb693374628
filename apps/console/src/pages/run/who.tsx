import type { Resolved } from '@brine/api';
import { Alert, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { ApiError } from '../../api/ask.ts';
import { resolveQuery, USUAL_FUNCTION } from '../../api/run.ts';
import { meQuery } from '../../api/session.ts';
import { FIXED } from '../../parts/fixed-text.ts';
import { Given } from '../../parts/given.tsx';
import { Panel, Sourced } from '../../parts/panel.tsx';
import { allowedTarget } from '../../state/run/allowed-target.ts';
import { type RunCommand, TARGET_KINDS, type TargetKind } from '../../state/run/run-command.ts';
import { idsOf } from '../../state/run/run-request.ts';

const NUMBER = new Intl.NumberFormat('en');

interface WhoProps {
  readonly command: RunCommand;
  readonly onChange: (part: Partial<RunCommand>) => void;
  readonly resolved: UseQueryResult<Resolved>;
  /** Whether the counted minions are those of the command as it is typed. */
  readonly isFresh: boolean;
}

/** The minions, counted while one types. */
export function Who({ command, onChange, resolved, isFresh }: WhoProps) {
  const { tgt, tgtType } = command;
  const kind = TARGET_KINDS.find(({ type }) => type === tgtType);
  return (
    <Panel title="1 Who">
      <Group align="end" gap="sm" wrap="wrap">
        <NativeSelect
          label="Target type"
          value={tgtType}
          data={TARGET_KINDS.map(({ type, name }) => ({ value: type, label: name }))}
          onChange={({ currentTarget }) => onChange({ tgtType: currentTarget.value as TargetKind })}
        />
        <TextInput
          label="Target"
          placeholder={kind?.example ?? ''}
          value={tgt}
          onChange={({ currentTarget }) => onChange({ tgt: currentTarget.value })}
          styles={FIXED}
          flex={1}
          miw="min(20rem, 100%)"
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      </Group>
      <div role="status" aria-label="Preview">
        <Preview command={command} onChange={onChange} resolved={resolved} isFresh={isFresh} />
      </div>
    </Panel>
  );
}

function Preview({ command, onChange, resolved, isFresh }: WhoProps) {
  if (command.tgt.trim() === '') {
    return (
      <Text size="sm" c="dimmed" mt="xs">
        The minions that a target means are counted here while you type it. * means all of them.
      </Text>
    );
  }
  if (!isFresh) {
    return (
      <Text size="sm" c="dimmed" mt="xs">
        Counting…
      </Text>
    );
  }
  const { error } = resolved;
  if (error instanceof ApiError && error.code === 'forbidden') {
    return <Refused command={command} onChange={onChange} error={error} />;
  }
  return (
    <div style={{ marginTop: 'var(--mantine-spacing-xs)' }}>
      <Sourced source={resolved}>
        {resolved.data !== undefined && <Counted command={command} resolved={resolved.data} />}
      </Sourced>
    </div>
  );
}

/** The minions of a target that one may not have as a whole: those that one may. */
function Refused({
  command,
  onChange,
  error,
}: Pick<WhoProps, 'command' | 'onChange'> & { readonly error: Error }) {
  const { fun, tgt, tgtType } = command;
  const me = useQuery(meQuery);
  const judged = fun === '' ? USUAL_FUNCTION : fun;
  const part = allowedTarget({ tgt, tgtType, fun: judged }, me.data?.rights ?? []);
  const own = useQuery(
    resolveQuery(part === undefined ? undefined : { tgt: part, tgtType: 'compound' }, fun),
  );
  const named = tgtType === 'list' ? idsOf(tgt).length : 0;
  const { data } = own;
  return (
    <Alert
      color="orange"
      p="xs"
      mt="xs"
      title={`✖ You may not run ${judged} on all of these minions`}
    >
      {part === undefined || own.isError ? (
        <Text size="sm">{error.message}</Text>
      ) : (
        <Sourced source={own}>
          {data !== undefined && (
            <>
              <Text size="sm">
                You may on {data.count === 0 ? 'none of them' : minions(data.count)}
                {named > data.count && `; ${NUMBER.format(named - data.count)} of the named ones`}
                {named > data.count && ' are not allowed, or not known'}.
              </Text>
              {data.count > 0 && (
                <Group gap="sm" mt={4}>
                  <Text size="sm">
                    <Names ids={data.sample} all={data.count} />
                  </Text>
                  <Button
                    size="compact-sm"
                    variant="default"
                    onClick={() => onChange({ tgt: part, tgtType: 'compound' })}
                  >
                    Take these {NUMBER.format(data.count)}
                  </Button>
                </Group>
              )}
            </>
          )}
        </Sourced>
      )}
    </Alert>
  );
}

interface CountedProps {
  readonly command: RunCommand;
  readonly resolved: Resolved;
}

function Counted({ command, resolved: { count, present, missing, sample } }: CountedProps) {
  const named = command.tgtType === 'list' ? idsOf(command.tgt).length : 0;
  return (
    <>
      <Group gap="md" className="number">
        <Text fw={600}>{minions(count)}</Text>
        {present !== null && (
          <>
            <Text>● {NUMBER.format(present)} present</Text>
            <Text {...(count > present ? {} : { c: 'dimmed' })}>
              ○ {NUMBER.format(count - present)} absent
            </Text>
          </>
        )}
        {missing.length > 0 && (
          <Text>
            ▢ not known: <Names ids={missing} all={Math.max(named - count, missing.length)} />
          </Text>
        )}
      </Group>
      {count > 0 && (
        <Text size="sm">
          <Names ids={sample} all={count} />
        </Text>
      )}
    </>
  );
}

function Names({ ids, all }: { readonly ids: readonly string[]; readonly all: number }) {
  return (
    <>
      {ids.map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Given text={id} max={80} />
        </span>
      ))}
      {all > ids.length && `, and ${NUMBER.format(all - ids.length)} more`}
    </>
  );
}

/** A number of minions in words. */
export function minions(count: number): string {
  return `${NUMBER.format(count)} ${count === 1 ? 'minion' : 'minions'}`;
}

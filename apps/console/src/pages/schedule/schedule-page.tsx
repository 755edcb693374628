import type { Schedule } from '@brine/api/runs';
import { Alert, Button, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { scheduleQuery } from '../../api/schedule.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { LevelSign } from '../../parts/level-sign.tsx';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { useRunners } from '../../parts/use-rights.ts';
import { When } from '../../parts/when.tsx';
import { shellLine } from '../../state/shell-word.ts';
import { type Intent, ScheduleConfirm } from './schedule-confirm.tsx';

/** The schedule moves on by itself: asked again after this, ms. Each time a runner runs. */
const AGAIN_MS = 30_000;

type Entry = Schedule['items'][number];

/** When is it due? */
export function SchedulePage() {
  const queries = useQueryClient();
  const schedule = useQuery({ ...scheduleQuery, refetchInterval: AGAIN_MS });
  const [intent, setIntent] = useState<Intent>();
  const may = useRunners();
  const { items = [], notInForce = [] } = schedule.data ?? {};
  const isKnown = schedule.isSuccess;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Schedule</Title>
        <Group>
          {isKnown && may('schedule.enable') && (
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => setIntent({ act: 'enable' })}
            >
              Switch on the schedule
            </Button>
          )}
          {isKnown && may('schedule.disable') && (
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => setIntent({ act: 'disable' })}
            >
              Switch off the schedule
            </Button>
          )}
          <CopyMenu path="/schedule" command={shellLine('salt-run', 'schedule.status')} />
        </Group>
      </Group>
      <Sourced source={schedule}>
        <NotInForce faults={notInForce} />
        {items.length === 0 ? (
          <Empty command="schedule: {hourly: {function: jobs.active, hours: 1}}">
            Jobs that the master runs by itself come here. The file of the master has them, as
          </Empty>
        ) : (
          <Table.ScrollContainer minWidth={640}>
            <Table aria-label="Schedule" striped>
              <Table.Thead>
                <Table.Tr>
                  {['Job', 'Function', 'Next', 'Last', 'Result', 'Do'].map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((entry) => (
                  <EntryRow key={entry.name} entry={entry} may={may} onIntent={setIntent} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </Sourced>
      {intent !== undefined && (
        <ScheduleConfirm
          intent={intent}
          onDone={() => void queries.invalidateQueries({ queryKey: scheduleQuery.queryKey })}
          onClose={() => setIntent(undefined)}
        />
      )}
    </Stack>
  );
}

function NotInForce({ faults }: { readonly faults: Schedule['notInForce'] }) {
  return faults.map(({ where, why }) => (
    <Alert key={where} color="orange" title="Not in force" p="xs">
      <Given text={where} />: <Given text={why} />
    </Alert>
  ));
}

interface EntryRowProps {
  readonly entry: Entry;
  readonly may: (fun: string) => boolean;
  readonly onIntent: (intent: Intent) => void;
}

function EntryRow({ entry, may, onIntent }: EntryRowProps) {
  const { name, fun, enabled, next } = entry;
  const [last] = entry.runs;
  const act = (label: string, runner: string, intent: Intent) =>
    may(runner) && (
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`${label}: ${name}`}
        onClick={() => onIntent(intent)}
      >
        {label}
      </Button>
    );
  return (
    <Table.Tr>
      <Table.Td>
        <Given text={name} />
        {!enabled && (
          <Text size="sm">
            <span aria-hidden>▢</span> switched off
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Given text={fun} />
      </Table.Td>
      <Table.Td>{next === null ? 'never' : <When time={next} />}</Table.Td>
      <Table.Td>{last === undefined ? 'not yet' : <When time={last.due} />}</Table.Td>
      <Table.Td>
        <Result entry={entry} />
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          {act('Run now', 'schedule.run_job', { act: 'run', name, force: !enabled })}
          {enabled
            ? act('Disable', 'schedule.disable_job', { act: 'disable', name })
            : act('Enable', 'schedule.enable_job', { act: 'enable', name })}
          {next !== null && act('Skip next', 'schedule.skip_job', { act: 'skip', name, at: next })}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** How the last run ended, and what was left out since. */
function Result({ entry: { runs, skipped } }: { readonly entry: Entry }) {
  const [last] = runs;
  return (
    <>
      {last === undefined ? '–' : <RunResult run={last} />}
      {skipped !== null && (
        <Text size="sm" c="dimmed">
          left out <When time={skipped.at} />: <Given text={skipped.reason} />
        </Text>
      )}
    </>
  );
}

function RunResult({ run }: { readonly run: Entry['runs'][number] }) {
  if (run.running) return <LevelSign level="warn" word="runs" />;
  if (run.skipped !== undefined) {
    return (
      <>
        <LevelSign level="warn" word="did not run" />: <Given text={run.skipped} />
      </>
    );
  }
  if (run.success === undefined) return <LevelSign level="warn" word="not known" />;
  return <LevelSign level={run.success ? 'ok' : 'bad'} word={run.success ? 'ok' : 'failed'} />;
}

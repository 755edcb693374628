import type { RunDetail } from '@brine/api/runs';
import { Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { pathOf } from '../../api/ask.ts';
import { runQuery } from '../../api/runs.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given, GivenLines } from '../../parts/given.tsx';
import { Panel, Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { timeOfJid } from '../../state/run/jid-time.ts';
import { type Step, stepsOf, stepsOfResult } from '../../state/run/run-steps.ts';
import { shellLine } from '../../state/shell-word.ts';
import { duration } from '../../state/times.ts';
import { RunState } from './run-state.tsx';

const route = getRouteApi('/runs/$jid');

/** What did it do, and where does it stand? */
export function RunDetailPage() {
  const { jid } = route.useParams();
  const run = useQuery(runQuery(jid));
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>
          <Given text={run.data?.fun ?? jid} />
        </Title>
        <CopyMenu
          path={`/runs${pathOf(jid)}`}
          command={shellLine('salt-run', 'jobs.lookup_jid', jid)}
        />
      </Group>
      <Sourced source={run}>{run.data !== undefined && <Run run={run.data} />}</Sourced>
    </Stack>
  );
}

function Run({ run }: { readonly run: RunDetail }) {
  const { jid, client, user, arg, kwarg, ended, retcode, steps, result, state } = run;
  const rows = useMemo(
    () => (steps === undefined ? stepsOfResult(result) : stepsOf(steps)),
    [steps, result],
  );
  const given = [...arg.map(textOf), ...Object.entries(kwarg).map(([n, v]) => `${n}=${textOf(v)}`)];
  return (
    <>
      <Group gap="md">
        <Text fw={600} role="status">
          <RunState run={run} />
        </Text>
        <Text>
          {client} by <Given text={user} />, began <When time={timeOfJid(jid)} />
          {ended !== undefined && (
            <>
              , ended <When time={ended} />
            </>
          )}
        </Text>
        {retcode !== undefined && <Text>return code {retcode}</Text>}
      </Group>
      {given.length > 0 && (
        <Text>
          Arguments: <Given text={given.join(' ')} max={2_000} />
        </Text>
      )}
      {rows !== undefined && rows.length > 0 && <Steps steps={rows} />}
      {state === 'ended' ? (
        <Panel title="Result">
          <GivenLines text={pretty(result)} />
        </Panel>
      ) : (
        <Text size="sm" c="dimmed">
          What it returns will be here when it has ended.
        </Text>
      )}
    </>
  );
}

function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <Panel title={`Steps (${steps.length})`}>
      <Table.ScrollContainer minWidth={480}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>State</Table.Th>
              <Table.Th>Step</Table.Th>
              <Table.Th>Function</Table.Th>
              <Table.Th>Took</Table.Th>
              <Table.Th>Began</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {steps.map((step) => (
              <StepRow key={step.step} step={step} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  );
}

function StepRow({ step }: { readonly step: Step }) {
  const { name, fun, began, ended, jid, leadsTo, comment } = step;
  const [shape, word] = signOf(step);
  const took =
    began === undefined || ended === undefined ? undefined : Date.parse(ended) - Date.parse(began);
  return (
    <Table.Tr>
      <Table.Td>
        <span aria-hidden>{shape}</span> {word}
      </Table.Td>
      <Table.Td>
        <Given text={name} />
        {comment !== undefined && comment !== '' && (
          <Text size="sm" c="dimmed" component="div">
            <GivenLines text={comment} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Given text={fun} />
      </Table.Td>
      <Table.Td className="number">{took === undefined ? '–' : duration(took)}</Table.Td>
      <Table.Td>{jid === undefined ? '–' : <Begun jid={jid} leadsTo={leadsTo} />}</Table.Td>
    </Table.Tr>
  );
}

function Begun({ jid, leadsTo }: { readonly jid: string; readonly leadsTo: Step['leadsTo'] }) {
  return leadsTo === 'run' ? (
    <Link to="/runs/$jid" params={{ jid }}>
      run {jid}
    </Link>
  ) : (
    <Link to="/jobs/$jid" params={{ jid }}>
      job {jid}
    </Link>
  );
}

function signOf({ state, result }: Step): readonly [string, string] {
  if (state === 'running') return ['◐', 'running'];
  if (result === true) return ['●', 'succeeded'];
  return result === false ? ['✖', 'failed'] : ['◌', 'would change'];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What was returned: a text as it is, else as JSON. */
function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? '–');
}

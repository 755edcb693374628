import {
  Button,
  type MantineColorScheme,
  SegmentedControl,
  Stack,
  Table,
  Text,
  Title,
  useMantineColorScheme,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { logInsQuery, meQuery } from '../../api/session.ts';
import { Given } from '../../parts/given.tsx';
import { useNow } from '../../parts/now.ts';
import { Panel } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useLeave } from '../../shell/leave.tsx';
import { type Settings, useSettings } from '../../state/settings.ts';
import { exactTime } from '../../state/times.ts';

/** What this browser keeps, and the session. */
export function SettingsPage() {
  return (
    <Stack gap="sm">
      <Title order={1}>Settings</Title>
      <ViewPanel />
      <SessionPanel />
    </Stack>
  );
}

function ViewPanel() {
  const { settings, set } = useSettings();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const nowMs = useNow();
  return (
    <Panel title="View">
      <Stack gap="sm">
        <Choice
          label="Theme"
          value={colorScheme}
          data={[
            { value: 'auto', label: 'As the system' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
          onChange={(value) => setColorScheme(value as MantineColorScheme)}
        />
        <Choice
          label="Rows"
          value={settings.density}
          data={[
            { value: 'compact', label: 'Compact' },
            { value: 'roomy', label: 'Roomy' },
          ]}
          onChange={(value) => set({ ...settings, density: value as Settings['density'] })}
        />
        <Choice
          label="Time that stands first"
          value={settings.zone}
          data={[
            { value: 'utc', label: 'UTC' },
            { value: 'local', label: 'Local' },
          ]}
          onChange={(value) => set({ ...settings, zone: value as Settings['zone'] })}
        />
        <Text size="sm" c="dimmed" className="number">
          {exactTime(`${new Date(nowMs).toISOString().slice(0, 19)}Z`, settings.zone)}
        </Text>
        <Text size="sm" c="dimmed">
          This browser keeps it, for all who use it.
        </Text>
      </Stack>
    </Panel>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly data: { value: string; label: string }[];
  readonly onChange: (value: string) => void;
}

function Choice({ label, ...control }: ChoiceProps) {
  const id = useId();
  return (
    <div>
      <Text size="sm" id={id}>
        {label}
      </Text>
      <SegmentedControl aria-labelledby={id} {...control} />
    </div>
  );
}

/** Who is logged in, until when, and with which rights. */
function SessionPanel() {
  const me = useQuery(meQuery);
  const logIns = useQuery(logInsQuery);
  const leave = useLeave();
  const { principal = '', eauth = '', groups = [], expires, readsAll, rights = [] } = me.data ?? {};
  const rows: readonly (readonly [string, ReactNode])[] = [
    ['User', <Given key="user" text={principal} />],
    ['Logged in by', <Given key="by" text={eauth} />],
    ['Groups', groups.length === 0 ? '–' : <Given key="groups" text={groups.join(', ')} />],
    ['Since', <When key="since" time={logIns.data?.session?.started} />],
    ['Ends', <When key="ends" time={expires} />],
    ['Sees', readsAll === true ? 'all jobs, events and values' : 'what its rights give'],
  ];
  return (
    <Panel
      title="This session"
      source={me}
      actions={
        <Button size="compact-sm" variant="default" onClick={leave}>
          Log out
        </Button>
      }
    >
      <Table withRowBorders={false}>
        <Table.Tbody>
          {rows.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" w="10rem">
                {name}
              </Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Title order={3} size="h6" mt="sm">
        Rights
      </Title>
      <Table aria-label="Rights">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">On</Table.Th>
            <Table.Th scope="col">Functions</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rights.map(({ on, functions }, at) => (
            <Table.Tr key={at}>
              <Table.Td>
                <Given text={on} />
              </Table.Td>
              <Table.Td>
                <Given
                  text={functions
                    .map(({ fun, arguments: some }) => (some ? `${fun} (some arguments)` : fun))
                    .join(', ')}
                  max={2_000}
                />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

import { Group, List, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../api/session.ts';
import { doctorQuery, servicesQuery } from '../../api/site.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { LevelSign } from '../../parts/level-sign.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Runbook } from '../../parts/runbook.tsx';
import { When } from '../../parts/when.tsx';
import { shellLine } from '../../state/shell-word.ts';
import { ServicesTable } from './services-table.tsx';

const NUMBER = new Intl.NumberFormat('en');

/** Which part is ill? */
export function ServicesPage() {
  const services = useQuery(servicesQuery);
  const { serving, trouble = [], silentHosts = [], leftOut = 0 } = services.data ?? {};
  const ill = [
    ...trouble,
    ...silentHosts.map(
      ({ host, behind }) =>
        `host ${host} is silent and ${NUMBER.format(behind)} messages behind; ` +
        'a day later it is forgotten',
    ),
  ];
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Services</Title>
        <CopyMenu path="/services" command={shellLine('brine', 'status', '--all')} />
      </Group>
      <Panel
        title="Services of all hosts"
        actions={
          serving !== undefined && (
            <LevelSign
              level={ill.length === 0 ? 'ok' : 'bad'}
              word={ill.length === 0 ? 'all serve' : `${ill.length} in trouble`}
            />
          )
        }
        source={services}
      >
        {ill.length > 0 && (
          <List listStyleType="none" mb="sm" aria-label="Trouble">
            {ill.map((text) => (
              <List.Item key={text}>
                <Group gap="xs">
                  <LevelSign level="bad" />
                  <Given text={text} />
                  <Runbook place="docs/outages.md#a-service-that-hangs" />
                </Group>
              </List.Item>
            ))}
          </List>
        )}
        <ServicesTable services={services.data?.services ?? []} />
        {leftOut > 0 && (
          <Text size="sm">{NUMBER.format(leftOut)} answers are left out: there are too many.</Text>
        )}
      </Panel>
      <DoctorPanel />
    </Stack>
  );
}

/** What the doctor finds, each with the page of the documentation about it. */
function DoctorPanel() {
  const me = useQuery(meQuery);
  const mayAsk = me.data?.readsAll === true;
  const doctor = useQuery({ ...doctorQuery, enabled: mayAsk });
  if (me.data !== undefined && !mayAsk) {
    return (
      <Panel title="Doctor">
        <Text size="sm">Its findings are for users with all rights.</Text>
      </Panel>
    );
  }
  return (
    <Panel
      title="Doctor"
      source={doctor}
      actions={<CopyMenu path="/doctor" command={shellLine('brine', 'doctor')} />}
    >
      <Text size="sm" mb="xs">
        Host <Given text={doctor.data?.host ?? ''} />, <When time={doctor.data?.examined} />
      </Text>
      <List listStyleType="none" spacing={4} aria-label="Findings">
        {doctor.data?.findings.map(({ level, check, text, runbook }) => (
          <List.Item key={`${check} ${text}`} data-level={level}>
            <Group gap="xs" align="baseline">
              <LevelSign level={level} />
              <Text size="sm" fw={600}>
                <Given text={check} />
              </Text>
              <Text size="sm" style={{ flex: '1 1 20rem' }}>
                <Given text={text} max={2_000} />
              </Text>
              {level !== 'ok' && <Runbook place={runbook} />}
            </Group>
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}

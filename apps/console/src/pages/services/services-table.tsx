import type { ServiceReport } from '@brine/api/site';
import { Anchor, Drawer, Table } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { Given, GivenLines } from '../../parts/given.tsx';
import { LevelSign } from '../../parts/level-sign.tsx';
import { When } from '../../parts/when.tsx';
import { duration } from '../../state/times.ts';

const route = getRouteApi('/services');

/** Clocks that differ less are taken for the same, ms. */
const AHEAD_MS = 1_000;

/** Each process of each host; its name opens what it reports of its work. */
export function ServicesTable({ services }: { readonly services: readonly ServiceReport[] }) {
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const shown = services.find((one) => nameOf(one) === open);
  const show = (name: string | undefined): void =>
    void navigate({ search: { open: name }, replace: true });
  return (
    <>
      <Table.ScrollContainer minWidth={640}>
        <Table aria-label="Services" striped>
          <Table.Thead>
            <Table.Tr>
              {['Service', 'Host', 'State', 'Release', 'Pid', 'Started', 'Clock'].map((title) => (
                <Table.Th key={title} scope="col">
                  {title}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {services.map((one) => (
              <Table.Tr key={nameOf(one)}>
                <Table.Td>
                  <Anchor component="button" size="sm" onClick={() => show(nameOf(one))}>
                    <Given text={one.name} />
                  </Anchor>
                </Table.Td>
                <Table.Td>
                  <Given text={one.host} />
                </Table.Td>
                <Table.Td>
                  <State service={one} />
                </Table.Td>
                <Table.Td>
                  <Given text={one.release} />
                </Table.Td>
                <Table.Td className="number">{one.pid}</Table.Td>
                <Table.Td>
                  <When time={one.started} />
                </Table.Td>
                <Table.Td className="number">{clockOf(one)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Drawer
        opened={shown !== undefined}
        onClose={() => show(undefined)}
        position="right"
        title={shown === undefined ? '' : <Given text={nameOf(shown)} />}
      >
        <GivenLines text={shown === undefined ? '' : JSON.stringify(shown, null, 2)} />
      </Drawer>
    </>
  );
}

function State({ service: { ready, leaving } }: { readonly service: ServiceReport }) {
  if (leaving) return <LevelSign level="warn" word="was replaced" />;
  return <LevelSign level={ready ? 'ok' : 'bad'} word={ready ? 'ready' : 'not ready'} />;
}

/** How far its clock is from that of the worker that asked. */
function clockOf({ aheadMs }: ServiceReport): string {
  if (aheadMs === null) return '–';
  if (Math.abs(aheadMs) < AHEAD_MS) return 'same';
  return `${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
}

function nameOf({ host, name, pid }: ServiceReport): string {
  return `${host} ${name} ${pid}`;
}

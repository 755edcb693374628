import { Code, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { readPage } from './pages.ts';
import { type Block, sectionOf } from './section.ts';

const route = getRouteApi('/runbook/$page');

/** What helps: a section of the documentation of this release, without a way to another host. */
export function RunbookPage() {
  const { page } = route.useParams();
  const { at = '' } = route.useSearch();
  const text = useQuery({
    queryKey: ['runbook', page],
    queryFn: async () => (await readPage(page)) ?? null,
    staleTime: Infinity,
  });
  const [first, ...rest] = text.data == null ? [] : sectionOf(text.data, at);
  const title = first?.is === 'heading' ? first.text : 'Runbook';
  const blocks = first === undefined || first.is === 'heading' ? rest : [first, ...rest];
  return (
    <Stack gap="sm" maw="50rem">
      <Title order={1}>{title}</Title>
      <Sourced source={text}>
        {text.data === null && <Empty>The console has no such runbook.</Empty>}
        {blocks.map((block, place) => (
          <Shown key={place} block={block} />
        ))}
      </Sourced>
    </Stack>
  );
}

function Shown({ block }: { readonly block: Block }) {
  if (block.is === 'heading') {
    return (
      <Title order={2} size="h4" mt="sm">
        {block.text}
      </Title>
    );
  }
  if (block.is === 'code') return <Code block>{block.text}</Code>;
  if (block.is === 'table') return <Rows rows={block.rows} />;
  return <Text style={{ whiteSpace: 'pre-line' }}>{block.text}</Text>;
}

function Rows({ rows: all }: { readonly rows: readonly (readonly string[])[] }) {
  const [head = [], ...rows] = all;
  return (
    <Table.ScrollContainer minWidth={400}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            {head.map((cell) => (
              <Table.Th key={cell}>{cell}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, at) => (
            <Table.Tr key={at}>
              {row.map((cell, place) => (
                <Table.Td key={place}>{cell}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

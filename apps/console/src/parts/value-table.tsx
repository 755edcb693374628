import { Stack, Table, Text } from '@mantine/core';
import { useMemo } from 'react';
import { valueRows } from '../state/fleet/value-rows.ts';
import { Given } from './given.tsx';

const NUMBER = new Intl.NumberFormat('en');
/** Rows that are drawn. */
const ROWS_MAX = 300;
const TEXT_MAX = 2_000;

interface ValueTableProps {
  readonly label: string;
  readonly value: unknown;
  /** A word that rows have in their path or text. */
  readonly word?: string;
}

/** A value of a minion, a row for each of its leaves. */
export function ValueTable({ label, value, word = '' }: ValueTableProps) {
  const found = useMemo(() => valueRows(value, { word, max: ROWS_MAX }), [value, word]);
  const more = found.total - found.rows.length;
  return (
    <Stack gap="xs">
      <Table aria-label={label} layout="fixed" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="35%">Name</Table.Th>
            <Table.Th>Value</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.rows.map(({ path, text }) => (
            <Table.Tr key={path}>
              <Table.Td>
                <Given text={path} max={TEXT_MAX} />
              </Table.Td>
              <Table.Td ff="monospace">
                <Given text={text} max={TEXT_MAX} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" c="dimmed" role="status">
        {found.total === 0 && 'Nothing has this word.'}
        {more > 0 && `${NUMBER.format(more)} more: search for a word.`}
        {found.isCut && ' It is larger than what is searched.'}
      </Text>
    </Stack>
  );
}

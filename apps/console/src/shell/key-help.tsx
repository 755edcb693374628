import { Kbd, Modal, Table } from '@mantine/core';
import type { PageEntry } from './pages.ts';

/** Keys that do the same everywhere. */
const KEYS: readonly (readonly [string, string])[] = [
  [
    '/  or  Ctrl-K',
    'Search: pages, what is on this page, minions, jobs, functions, a salt command',
  ],
  ['?', 'This list'],
  ['j  k  ↓  ↑', 'To the rows; next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Choose the row'],
  ['Esc', 'Close; leave a field'],
];

/** All keys. */
export function KeyHelp({
  pages,
  opened,
  onClose,
}: {
  readonly pages: readonly PageEntry[];
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const rows = [...KEYS, ...pages.map(({ key, name }) => [`g ${key}`, name] as const)];
  return (
    <Modal opened={opened} onClose={onClose} title="Keys">
      <Table aria-label="Keys">
        <Table.Tbody>
          {rows.map(([key, does]) => (
            <Table.Tr key={key}>
              <Table.Td>
                <Kbd>{key}</Kbd>
              </Table.Td>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}

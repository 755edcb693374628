import { Kbd, Modal, Table } from '@mantine/core';
import { PAGES } from './pages.ts';

/** Keys that do the same everywhere. */
const KEYS: readonly (readonly [string, string])[] = [
  ['/  or  Ctrl-K', 'Search pages, minions, jobs, functions and acts'],
  ['?', 'This list'],
  ['j  k  ↓  ↑', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Choose the row'],
  ['Esc', 'Close'],
];

/** All keys. */
export function KeyHelp({
  opened,
  onClose,
}: {
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const rows = [...KEYS, ...PAGES.map(({ key, name }) => [`g ${key}`, name] as const)];
  return (
    <Modal opened={opened} onClose={onClose} title="Keys">
      <Table>
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

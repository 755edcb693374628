import { Button, Menu } from '@mantine/core';
import { chosenColumns, toggledColumns } from './columns.ts';

interface ColumnsMenuProps {
  readonly columns: readonly { readonly id: string; readonly title: string }[];
  /** As the address has it. */
  readonly chosen: string | undefined;
  readonly onChange: (chosen: string) => void;
}

/** Chooses the columns of a list. */
export function ColumnsMenu({ columns, chosen, onChange }: ColumnsMenuProps) {
  const shown = new Set(chosenColumns(columns, chosen).map(({ id }) => id));
  return (
    <Menu closeOnItemClick={false}>
      <Menu.Target>
        <Button size="compact-sm" variant="default">
          Columns
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {columns.map(({ id, title }) => (
          <Menu.CheckboxItem
            key={id}
            checked={shown.has(id)}
            onChange={() => onChange(toggledColumns(columns, chosen, id))}
          >
            {title}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

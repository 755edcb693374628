import { Button, Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { Query } from '../../api/ask.ts';
import { auditPage } from '../../api/audit.ts';
import { saveFile } from '../../parts/save-file.ts';
import { csvOf } from '../../state/csv.ts';
import { AUDIT_COLUMNS, EXPORT_MAX, exported } from './audit-export.ts';

/** Saves the acts of a filter as a file. */
export function ExportMenu({ filter }: { readonly filter: Query }) {
  const [isBusy, setBusy] = useState(false);
  const save = async (form: 'csv' | 'json'): Promise<void> => {
    setBusy(true);
    try {
      const { acts, isWhole } = await exported((limit, after) => auditPage(filter, limit, after));
      if (form === 'csv') saveFile('audit.csv', 'text/csv', csvOf(AUDIT_COLUMNS, acts));
      else saveFile('audit.json', 'application/json', `${JSON.stringify(acts, null, 2)}\n`);
      const number = new Intl.NumberFormat('en');
      notifications.show({
        message: isWhole
          ? `${number.format(acts.length)} acts are in the file.`
          : `The newest ${number.format(EXPORT_MAX)} acts are in the file: there are more.`,
      });
    } catch (error) {
      notifications.show({
        color: 'red',
        title: 'Nothing was saved',
        message: error instanceof Error ? error.message : String(error),
      });
    }
    setBusy(false);
  };
  return (
    <Menu>
      <Menu.Target>
        <Button size="compact-sm" variant="default" loading={isBusy}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void save('csv')}>CSV</Menu.Item>
        <Menu.Item onClick={() => void save('json')}>JSON</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

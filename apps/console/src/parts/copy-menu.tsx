import { Button, Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { addressOf, type Query } from '../api/ask.ts';
import { type ShellLine } from '../state/shell-word.ts';

interface CopyMenuProps {
  /** The same on the command line of the host. */
  readonly command?: ShellLine;
  /** What does again what the page is about. */
  readonly again?: ShellLine | undefined;
  /** What the page asked: copied as a call of curl. */
  readonly path: string;
  readonly query?: Query;
}

/** Copies what one looks at: as a link, as a command, as a call. */
export function CopyMenu({ command, again, path, query }: CopyMenuProps) {
  const url = new URL(addressOf(path, query), window.location.origin).href;
  const curl = `curl -H "X-Auth-Token: $TOKEN" '${url.replaceAll("'", '%27')}'`;
  return (
    <Menu>
      <Menu.Target>
        <Button size="compact-sm" variant="default">
          Copy
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void copy(window.location.href)}>Link to this view</Menu.Item>
        {command !== undefined && (
          <Menu.Item onClick={() => void copy(command)}>Command line</Menu.Item>
        )}
        {again !== undefined && (
          <Menu.Item onClick={() => void copy(again)}>Command that began it</Menu.Item>
        )}
        <Menu.Item onClick={() => void copy(curl)}>curl</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Copies a text, or shows it where the browser does not let pages copy (over plain HTTP). */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notifications.show({ message: 'Copied.' });
  } catch {
    notifications.show({ title: 'Copy this', message: text, autoClose: false });
  }
}

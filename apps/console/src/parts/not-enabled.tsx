import { Code, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../api/session.ts';
import { type ClientAct, enabledBy, isEnabled } from '../state/clients.ts';

/** Where one expects an act that the site has not enabled: the option that enables it. */
export function NotEnabled({ act }: { readonly act: ClientAct }) {
  const { data } = useQuery(meQuery);
  if (data === undefined || isEnabled(data, act)) return null;
  return (
    <Text span size="sm" c="dimmed" role="note">
      Not enabled on this master. The option is <Code>{enabledBy(act)}</Code>
    </Text>
  );
}

import { Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** For an address that is no page. */
export function NotFound() {
  return (
    <>
      <Title order={1}>There is no such page</Title>
      <Text>
        <Link to="/">Go to the first page</Link>
      </Text>
    </>
  );
}

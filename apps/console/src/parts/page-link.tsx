import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface PageLinkProps {
  readonly path: string;
  readonly search?: Readonly<Record<string, string>> | undefined;
  readonly children: ReactNode;
}

/** A link to a page whose address comes from data. */
export function PageLink({ path, search = {}, children }: PageLinkProps) {
  return (
    <Anchor component={Link} to={path} search={search as never} size="sm" underline="always">
      {children}
    </Anchor>
  );
}

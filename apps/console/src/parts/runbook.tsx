import { placeIn } from '../pages/runbook/section.ts';
import { PageLink } from './page-link.tsx';

/** A link to the place in the documentation that helps. @param place as `docs/outages.md#clocks` */
export function Runbook({ place }: { readonly place: string }) {
  const found = placeIn(place);
  if (found === undefined) return null;
  const { page, anchor } = found;
  return (
    <PageLink path={`/runbook/${page}`} search={anchor === '' ? {} : { at: anchor }}>
      runbook
    </PageLink>
  );
}

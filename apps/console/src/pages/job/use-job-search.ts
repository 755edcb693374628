import { getRouteApi } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { JobSearch } from './job-search.ts';

const route = getRouteApi('/jobs/$jid');

/** What is open on the page of a job, and changes it. All of it is in the address. */
export function useJobSearch() {
  const { jid } = route.useParams();
  const search: JobSearch = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: JobSearch) => {
      void navigate({ search: (old: JobSearch) => ({ ...old, ...part }), replace: true });
    },
    [navigate],
  );
  return { jid, search, change };
}

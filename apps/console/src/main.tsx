import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/ask.ts';
import { askAgain } from './api/ask-again.ts';
import { LiveStream } from './live/live-stream.ts';
import { LiveContext } from './live/use-live.ts';
import { router } from './router.tsx';
import { Welcome } from './shell/welcome.tsx';
import { keepSettings, readSettings, SettingsContext } from './state/settings.ts';
import { nonce, onlyPlainText, shareNonce } from './state/trusted-texts.ts';
import { colours, theme } from './theme.ts';

import './styles.ts';

/** Tries of a request that failed for a reason that passes. */
const RETRIES = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) =>
        failures < RETRIES && error instanceof ApiError && error.retryable,
      staleTime: 5_000,
    },
  },
});

/** All that is around the pages. */
function Console() {
  const [settings, set] = useState(readSettings);
  useEffect(() => keepSettings(settings), [settings]);
  useEffect(() => askAgain(queries), []);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={colours}
      defaultColorScheme="auto"
      getStyleNonce={nonce}
    >
      <SettingsContext value={{ settings, set }}>
        <QueryClientProvider client={queries}>
          <Notifications />
          <Welcome>
            <Live />
          </Welcome>
        </QueryClientProvider>
      </SettingsContext>
    </MantineProvider>
  );
}

/** The pages, with a stream while one is logged in. */
function Live() {
  const [stream] = useState(() => new LiveStream());
  useEffect(() => stream.open(), [stream]);
  return (
    <LiveContext value={stream}>
      <RouterProvider router={router} />
    </LiveContext>
  );
}

onlyPlainText();
shareNonce();
const place = document.getElementById('root');
if (place === null) throw new Error('the page has no place for the console');
createRoot(place).render(
  <StrictMode>
    <Console />
  </StrictMode>,
);

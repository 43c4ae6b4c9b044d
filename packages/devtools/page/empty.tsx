/** Before the first run: what to paste, and what will be seen. */

import { CopyButton } from './copy-button.tsx'
import { Logo } from './logo.tsx'

export function Empty({ live }: { readonly live: boolean }) {
  const lines = [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${location.origin}`,
    'export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
  ].join('\n')
  return (
    <main class="empty">
      <p class="mark">
        <Logo /> Meanwhile devtools
      </p>
      <h1>Waiting for the first run</h1>
      <p>Set the address for any program with an OpenTelemetry SDK, and run it.</p>
      <div class="paste">
        <pre>{lines}</pre>
        <CopyButton text={lines} />
      </div>
      <p class="dim">The second line records prompts, arguments and results. They stay on this machine.</p>
      <svg class="idea" viewBox="0 0 560 112" aria-hidden="true">
        <rect width="340" height="112" rx="4" class="canopy" />
        <rect width="340" height="22" rx="4" class="ribbon" />
        <rect x="96" y="34" width="280" height="14" rx="3" class="bar read" />
        <rect x="150" y="56" width="60" height="14" rx="3" class="bar read" />
        <rect x="236" y="78" width="74" height="14" rx="3" class="bar reversible" />
        <rect x="400" width="160" height="22" rx="4" class="ribbon" />
      </svg>
      <p class="dim">
        Tools run under the stream of the model. Here you see how far.
        {!live && <strong class="bad"> The server does not answer.</strong>}
      </p>
    </main>
  )
}

/** In place of a run that is not here: its address is older than the server, or it had to leave. */

import { Back } from './head.tsx'

export function Missing({ narrow, onBack }: { readonly narrow: boolean; readonly onBack: () => void }) {
  return (
    <main class="run">
      <header class="head">
        {narrow && <Back onBack={onBack} />}
        <h1>This run is not here</h1>
        <p class="about">
          Runs are kept in memory: the latest ones, until the devtools end. A downloaded run can be opened again.
        </p>
      </header>
    </main>
  )
}

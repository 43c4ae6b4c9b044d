/** Shows the spans of the measured runs in the devtools, after the measurement, so that it costs the runs nothing. */

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Devtools, PortInUseError, startDevtools } from '@meanwhile/devtools'

const PAGE = join(import.meta.dirname, '../../../packages/devtools/page/build.ts')

/** `spans` is OTLP/JSON. Returns when the signal aborts. */
export async function showInDevtools(spans: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  execFileSync(process.execPath, [PAGE], { stdio: ['ignore', 'ignore', 'inherit'] })
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  try {
    const file = join(folder, 'runs.otlp.json')
    await writeFile(file, spans)
    await using devtools = await started(file)
    console.log(`The runs are at ${devtools.url} (Ctrl-C ends it)`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** At the usual port, or at any free one. */
async function started(file: string): Promise<Devtools> {
  try {
    return await startDevtools({ files: [file] })
  } catch (error) {
    if (!(error instanceof PortInUseError)) throw error
    return await startDevtools({ files: [file], port: 0 })
  }
}

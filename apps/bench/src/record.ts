/** Records a real endpoint, which the user's own client asks through a proxy on this machine. */

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { parseRecording, recordModels } from '@meanwhile/harness/server'
import { count } from './format.ts'
import { UsageError } from './usage-error.ts'
import { withoutVersion } from './without-version.ts'

export interface RecordOptions {
  readonly upstream: string
  readonly file: string
  /** Ends it. */
  readonly signal: AbortSignal
  say(text: string): void
}

/** Gives the number of responses that were written. Throws a {@link UsageError} if there is such a file already. */
export async function record({ upstream, file, signal, say }: RecordOptions): Promise<number> {
  if (existsSync(file)) throw new UsageError(`${file} is there already: name another with --recording`)
  await using recorder = recordModels({ upstream: withoutVersion(upstream) })
  const url = await recorder.listen()
  say(`Recording ${upstream}. Give your client the base URL ${url}/v1 (OpenAI) or ${url} (Anthropic); Ctrl-C ends it.`)
  await aborted(signal)
  const text = recorder.recording()
  const responses = parseRecording(text).length
  if (responses === 0) {
    say('Nothing came through; nothing was written.')
    return 0
  }
  await writeFile(file, text, { flag: 'wx' })
  say(
    `Written: ${file} with ${count(responses, 'response')}. Keys are not in it; what was said is. Now: --replay ${file}`,
  )
  return responses
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

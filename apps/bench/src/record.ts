/** Records a real endpoint, which the user's own client calls through a proxy on this machine. */

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { parseRecording, recordModels } from '@meanwhile/harness/server'
import { count } from './format.ts'
import { UsageError } from './usage-error.ts'
import { withoutVersion } from './without-version.ts'

export interface RecordOptions {
  readonly upstream: string
  readonly file: string
  /** Ends the recording. */
  readonly signal: AbortSignal
  say(text: string): void
}

/** Returns how many responses were written. Throws a {@link UsageError} if the file already exists. */
export async function record({ upstream, file, signal, say }: RecordOptions): Promise<number> {
  if (existsSync(file)) throw new UsageError(`${file} already exists: name another with --recording`)
  await using recorder = recordModels({ upstream: withoutVersion(upstream) })
  const url = await recorder.listen()
  say(`Recording ${upstream}. Give your client the base URL ${url}/v1 (OpenAI) or ${url} (Anthropic); Ctrl-C ends it.`)
  await aborted(signal)
  const text = recorder.recording()
  const responses = parseRecording(text).length
  if (responses === 0) {
    say('No request arrived; nothing was written.')
    return 0
  }
  await writeFile(file, text, { flag: 'wx' })
  say(`Written: ${file} with ${count(responses, 'response')}. It has no keys, but all messages. Next: --replay ${file}`)
  return responses
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

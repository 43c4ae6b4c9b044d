/** The requests of a library that only its recording needs. Played back, they are judged by the rules of today. */

import { createHash } from 'node:crypto'
import { WIRE_NAMES } from '@meanwhile/harness/server'
import { z } from 'zod'
import { INPUTS } from './inputs.ts'
import { judged, type Sent } from './sent.ts'

const RUN = z.strictObject({
  input: z.string(),
  wire: z.enum(WIRE_NAMES),
  error: z.string().optional(),
  requests: z.array(
    z.strictObject({ path: z.string(), headers: z.record(z.string(), z.string()), body: z.looseObject({}) }),
  ),
})

const RECORDING = z.strictObject({
  /** The packages that sent the requests, with their versions. */
  packages: z.array(z.string()),
  /** The hash of the inputs that they were given. */
  inputs: z.string(),
  runs: z.array(RUN),
})

type Recording = z.infer<typeof RECORDING>

/** The inputs, or the versions of a library, are others than when its requests were recorded. */
export class OldRecordingError extends Error {
  override readonly name = 'OldRecordingError'

  readonly changed: 'inputs' | 'packages'

  constructor(changed: 'inputs' | 'packages') {
    super(`the ${changed} have changed since the requests were recorded`)
    this.changed = changed
  }
}

/** A line for each run, so that a change is seen where it is. */
export function recordingOf(packages: readonly string[], sent: readonly Sent[]): string {
  const runs = sent.map(({ input, wire, error, requests }): Recording['runs'][number] => ({
    input,
    wire,
    ...(error !== undefined && { error }),
    requests: requests.map(({ url, headers, body }) => ({
      path: new URL(url).pathname,
      headers: readByRules(headers),
      body: z.looseObject({}).parse(body),
    })),
  }))
  const lines = runs.map((run) => JSON.stringify(run)).join(',\n')
  return `{"packages":${JSON.stringify(packages)},"inputs":"${hashOfInputs()}","runs":[\n${lines}\n]}\n`
}

/**
 * Sends the recorded requests again.
 *
 * @throws {OldRecordingError} They are not what these packages would send for the inputs of today.
 */
export async function replayed(recording: string, packages: readonly string[]): Promise<readonly Sent[]> {
  const { packages: recorded, inputs, runs } = RECORDING.parse(JSON.parse(recording))
  if (inputs !== hashOfInputs()) throw new OldRecordingError('inputs')
  if (recorded.join() !== packages.join()) throw new OldRecordingError('packages')
  const byName = new Map(INPUTS.map((input) => [input.name, input]))
  const all: Sent[] = []
  for (const { input: name, wire, error, requests } of runs) {
    const input = byName.get(name)
    if (!input) throw new OldRecordingError('inputs')
    const send = async (url: string, signal: AbortSignal): Promise<void> => {
      for (const { path, headers, body } of requests) {
        const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, signal }
        const response = await fetch(`${url}${path}`, { ...init, body: JSON.stringify(body) })
        await response.text()
      }
      if (error !== undefined) throw new Error(error)
    }
    all.push(await judged(input, wire, send))
  }
  return all
}

/** Others, such as the port, change with each recording. */
function readByRules(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('anthropic-')))
}

function hashOfInputs(): string {
  return createHash('sha256').update(JSON.stringify(INPUTS)).digest('hex').slice(0, 16)
}

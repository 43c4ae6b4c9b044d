/** Reads a response with plain fetch, for comparing transports byte by byte. */

import type { WireName } from '../src/wires/wire-name.ts'
import { WIRES } from '../src/wires/wires.ts'
import type { Reach } from './clients.ts'
import { bodyFor } from './requests.ts'

export interface Heard {
  readonly status?: number
  readonly type?: string | null
  readonly body: string
  /** The error of the fetch or the body: its message, and that of its cause with name and code. */
  readonly error?: { readonly message: string; readonly cause?: string }
}

export interface Listening {
  /** Aborts once the body has this many characters. */
  readonly leaveAfter?: number
}

/** Sends one request and reads to the end. Never throws. */
export async function listen(
  { fetch: ask = fetch, url = 'http://models.test' }: Reach,
  wire: WireName,
  { leaveAfter = Number.POSITIVE_INFINITY }: Listening = {},
): Promise<Heard> {
  const left = new AbortController()
  const decoder = new TextDecoder()
  let body = ''
  let response: Response | undefined
  const headers = (): Omit<Heard, 'body'> =>
    response ? { status: response.status, type: response.headers.get('content-type') } : {}
  try {
    const request = { method: 'POST', body: bodyFor(wire), signal: left.signal }
    response = await ask(url + WIRES[wire].path, request)
    for await (const bytes of response.body ?? []) {
      body += decoder.decode(bytes, { stream: true })
      if (body.length >= leaveAfter) left.abort()
    }
    return { ...headers(), body }
  } catch (thrown) {
    if (left.signal.aborted) return { ...headers(), body: body.slice(0, leaveAfter) }
    return { ...headers(), body, error: inWords(thrown) }
  }
}

function inWords(thrown: unknown): NonNullable<Heard['error']> {
  if (!(thrown instanceof Error)) return { message: String(thrown) }
  const { message, cause } = thrown
  if (!(cause instanceof Error)) return { message }
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
  return { message, cause: `${cause.name}: ${cause.message}${code}` }
}

/** The pages of the measurement: they send messages to a chat server, join turns, and read the streams. */

import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { agesIn } from './stamps.ts'

const agent = new Agent({ keepAlive: true })

/** What a page has seen of a stream. */
export interface Seen {
  /** Whether the stream has ended as it should. */
  readonly isWhole: boolean
  /** From the request to the end of the stream, in milliseconds. */
  readonly wallMs: number
  /** Milliseconds from the request to the first word. */
  readonly firstMs: number | undefined
  /** How late each word was, in milliseconds. */
  readonly lateMs: readonly number[]
}

interface Visit {
  readonly port: number
  readonly thread: string
  readonly signal: AbortSignal
  /** Called for each word, with the number of words so far. */
  onWord?(count: number): void
}

let messages = 0

/** Sends a message, and reads its turn to the end. */
export function send(visit: Visit): Promise<Seen> {
  const parts = [{ type: 'text', text: 'How is the weather?' }]
  const body = { id: visit.thread, messages: [{ id: `m${process.pid}-${++messages}`, role: 'user', parts }] }
  return seen(visit, 'POST', '/api/chat', JSON.stringify(body))
}

/** Joins the running turn, and reads it to the end. */
export function join(visit: Visit): Promise<Seen> {
  return seen(visit, 'GET', `/api/chat/${visit.thread}/stream`)
}

async function seen({ port, signal, onWord }: Visit, method: string, path: string, body = ''): Promise<Seen> {
  const began = performance.now()
  const headers = { 'content-type': 'application/json' }
  const sent = request({ host: '127.0.0.1', port, path, method, agent, headers, signal })
  sent.end(body)
  const [response]: IncomingMessage[] = await once(sent, 'response')
  let tail = ''
  let firstMs: number | undefined
  const lateMs: number[] = []
  for await (const text of response?.setEncoding('utf8') ?? []) {
    const ages = agesIn(String(text))
    if (ages.length > 0) firstMs ??= performance.now() - began
    for (const age of ages) {
      lateMs.push(age)
      onWord?.(lateMs.length)
    }
    tail = (tail + String(text)).slice(-40)
  }
  const isWhole = response?.statusCode === 200 && tail.includes('[DONE]')
  return { isWhole, wallMs: performance.now() - began, firstMs, lateMs }
}

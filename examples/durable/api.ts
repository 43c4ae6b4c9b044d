// The server for users. It starts runs, answers their questions and streams their events, but advances none.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { UnknownInterruptError } from '@meanwhile/core'
import { CursorError, UnknownRunError } from '@meanwhile/durable'
import { z } from 'zod'
import { refusalOf } from '../shared/local-requests.ts'
import { runs } from './agent.ts'

const newRun = z.object({ text: z.string() })
const newAnswers = z.record(z.string(), z.enum(['yes', 'no']))

async function start(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { text } = newRun.parse(await json(request))
  const id = request.headers['idempotency-key']
  // Two requests with the same key start one run.
  response.end(JSON.stringify(await runs.start('warden', text, typeof id === 'string' ? { id } : {})))
}

async function answer(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  await runs.answer(id, newAnswers.parse(await json(request)))
  response.end()
}

async function events(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const left = new AbortController()
  response.on('close', () => left.abort())
  // A browser that reconnects sends its last position by itself.
  const after = request.headers['last-event-id']
  const reading = runs.events(id, { signal: left.signal, ...(typeof after === 'string' && { after }) })
  response.setHeader('content-type', 'text/event-stream')
  for await (const { cursor, event } of reading) response.write(`id: ${cursor}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

export const api = createServer((request, response) => {
  const refusal = refusalOf(request)
  if (refusal) return void response.writeHead(refusal).end()
  const [, , id = '', what = ''] = new URL(request.url ?? '', 'http://localhost').pathname.split('/')
  const handled =
    what === 'events'
      ? events(id, request, response)
      : what === 'answers'
        ? answer(id, request, response)
        : start(request, response)
  handled.catch((error: unknown) => {
    const isUnknown = error instanceof UnknownRunError || error instanceof UnknownInterruptError
    const isWrong = error instanceof z.ZodError || error instanceof CursorError || error instanceof SyntaxError
    if (!response.headersSent) response.writeHead(isUnknown ? 404 : isWrong ? 400 : 500)
    response.end()
  })
})

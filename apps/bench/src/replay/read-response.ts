/** Reads a recorded response as an agent does, with our adapter over the official client. */

import { type AssistantMessage, DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import type { RecordedExchange } from '@meanwhile/harness/server'
import { z } from 'zod'
import { modelOf } from '../agents.ts'

export interface ReadResponse {
  readonly message: AssistantMessage
  /** By call id: the write with the last byte of its arguments, counted from 0. */
  readonly lastWrites: ReadonlyMap<string, number>
}

/** Rejects with the error that a client throws for such a response. */
export async function readResponse({ request, response }: RecordedExchange): Promise<ReadResponse> {
  let written = -1
  const lastWrites = new Map<string, number>()
  const frames = response.frames.values()
  // Nothing is buffered: a piece is taken when everything before it has been read.
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { value, done } = frames.next()
        if (done) return controller.close()
        written++
        controller.enqueue(value.bytes)
      },
    },
    { highWaterMark: 0 },
  )
  const { status, headers } = response
  const model = modelOf(request.wire, {
    url: 'http://recorded.test',
    fetch: async () => new Response(body, { status, headers: { ...headers } }),
  })
  const flow = model.stream({
    model,
    instructions: '',
    messages: [{ role: 'user', content: '' }],
    tools: [],
    toolNames: toolNamesIn(request.body),
    toolChoice: 'auto',
    settings: {},
    inputLimits: DEFAULT_INPUT_LIMITS,
    takenIds: new Set(),
    signal: new AbortController().signal,
  })
  for (;;) {
    const { done, value } = await flow.next()
    if (done) return { message: value, lastWrites }
    if (value.type === 'tool-input-start' || value.type === 'tool-input-delta') lastWrites.set(value.id, written)
    else if (value.type === 'tool-call' && !lastWrites.has(value.call.id)) lastWrites.set(value.call.id, written)
  }
}

const TOOLS = z.object({
  tools: z.array(z.object({ name: z.string().optional(), function: z.object({ name: z.string() }).optional() })),
})

/** The names of the tools that a request declares. The reader waits while another name may still become longer. */
function toolNamesIn(body: unknown): ReadonlySet<string> {
  const { data } = TOOLS.safeParse(body)
  return new Set(data?.tools.flatMap((tool) => tool.function?.name ?? tool.name ?? []))
}

/** Middleware for calls that start while the model is streaming, and for calls that are withdrawn. */

import {
  type Awaitable,
  type CallOptions,
  type Flow,
  type Middleware,
  map,
  type Run,
  type ToolCall,
} from '../src/index.ts'

/** Starts each call as soon as it is sealed. */
export const early: Middleware = startingEarly()

export interface EarlyOptions extends CallOptions {
  /** The event that starts a call. Default: the seal. */
  readonly at?: 'tool-input-closed' | 'tool-call'
  /** The delay after that, in milliseconds. Default: none. */
  readonly delay?: number
  /** The calls that start early. Default: all. */
  readonly only?: (call: ToolCall) => boolean
}

/** The same at another event, for some calls, or with these options for each. */
export function startingEarly(options: EarlyOptions = {}): Middleware {
  const { at = 'tool-call', delay = 0, only = () => true, ...rest } = options
  return {
    name: 'early',
    wrapModel: (request, next, run) =>
      map(next(request), (event) => {
        if (event.type !== at || !only(event.call)) return event
        const start = () => void run.callTool(event.call, rest).catch(() => undefined)
        if (delay === 0) start()
        else setTimeout(start, delay)
        return event
      }),
  }
}

type PassedEvent = ReturnType<NonNullable<Middleware['wrapModel']>> extends Flow<infer Event, unknown> ? Event : never

/** Acts on each event of a model call after the event was taken. The model call waits for it. */
export function afterEvents(act: (event: PassedEvent, run: Run) => Awaitable<unknown>): Middleware {
  return {
    name: 'after events',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        // A copy, because the reader has the event now.
        const event = { ...step.value }
        yield step.value
        await act(event, run)
      }
    },
  }
}

/** Changes the input of the first call of a response with this function. */
export function editing(edit: (input: ToolCall['input'], step: number) => unknown): Middleware {
  return {
    name: 'editing',
    afterModel({ messages }, { step }) {
      const answer = messages.at(-1)
      if (answer?.role !== 'assistant') return
      const first = answer.content.findIndex(({ type }) => type === 'tool-call')
      const content = answer.content.map((part, index) =>
        index === first && part.type === 'tool-call' ? { ...part, input: edit(part.input, step) } : part,
      )
      return { messages: [...messages.slice(0, -1), { ...answer, content }] }
    },
  }
}

/** Withdraws the calls of a tool before they are requested, or all calls of the answer if there is no name. */
export function withdrawing(name?: string): Middleware {
  return {
    name: 'withdraw',
    afterModel({ messages }) {
      const answer = messages.at(-1)
      if (answer?.role !== 'assistant') return
      const isKept = (part: (typeof answer.content)[number]) =>
        name !== undefined && !(part.type === 'tool-call' && part.name === name)
      return { messages: [...messages.slice(0, -1), { ...answer, content: answer.content.filter(isKept) }] }
    },
  }
}

import Anthropic from '@anthropic-ai/sdk'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model, type Tool, tool } from '@meanwhile/core'
import { createToolExecutor, eagerTools } from '@meanwhile/eager-tools'
import { mockModels, WIRE_NAMES, type WireName } from '@meanwhile/harness'
import { aiSdk } from '@meanwhile/models/ai-sdk'
import { anthropic } from '@meanwhile/models/anthropic'
import { chatWire, openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { z } from 'zod'

// Tools that need no member of their input, on each wire. The responses here go on only when the tool has started, so that a start that
// comes later than it could never comes.

type Fetch = typeof globalThis.fetch

interface Gate {
  readonly opened: Promise<void>
  open(): void
}

function gate(): Gate {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const CALL = respond(call('search', { q: 'owls', top: 3 }, { id: 'c1', deltas: 4 }))

/** Sends the first response up to the tool's name and `more` events, and the rest when the gate is open. */
function stopping(wire: WireName, { opened }: Gate, more = 0): Fetch {
  const { fetch } = mockModels({ script: [CALL, respond(say('Done.'))], wires: [wire] })
  return async (...request) => {
    const response = await fetch(...request)
    const events = (await response.text()).split(/(?<=\n\n)/)
    // Responses repeats the request's tools first.
    const named = events.findIndex((event) => event.includes('"name":"search"') && !event.includes('"tools"'))
    async function* paced() {
      for (const [index, event] of events.entries()) {
        if (named >= 0 && index > named + more) await opened
        yield new TextEncoder().encode(event)
      }
    }
    return new Response(ReadableStream.from(paced()), response)
  }
}

/** `search`, which opens the gate when it starts, `search_web` if the name must be uncertain, and what happens to them. */
function toolsThat(happened: string[], { open }: Gate, isInDoubt = false): Tool[] {
  const make = (name: string) =>
    tool({
      name,
      description: name,
      input: z.object({ q: z.string(), top: z.number() }),
      effect: 'read',
      needs: [],
      async execute(_, { rest }) {
        happened.push(`${name} starts`)
        open()
        const { q, top } = await rest
        happened.push(`${name} ${q} ${top}`)
      },
    }) as Tool
  return isInDoubt ? [make('search_web'), make('search')] : [make('search')]
}

function modelOf(wire: WireName, fetch: Fetch): Model {
  const options = { apiKey: 'none', maxRetries: 0, logLevel: 'off', fetch } as const
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'm' })
  return openai({ client: new OpenAI(options), model: 'm', api: wire === 'openai-chat' ? 'chat' : 'responses' })
}

async function ran(model: Model, tools: readonly Tool[]) {
  const { savings } = await createAgent({ model, tools, middleware: [eagerTools()] }).run('Go.')
  return savings?.steps[0]?.calls.map(({ evidence, outcome }) => [evidence, outcome])
}

test.each(WIRE_NAMES)(
  'on %s a tool that needs no member starts before any of its arguments arrives (Q5)',
  async (wire) => {
    const happened: string[] = []
    const started = gate()
    const model = modelOf(wire, stopping(wire, started))
    expect(await ran(model, toolsThat(happened, started))).toEqual([['prefix', 'committed']])
    expect(happened).toEqual(['search starts', 'search owls 3'])
  },
)

test.each(WIRE_NAMES)(
  'on %s a tool that needs no member starts early even if another tool’s name begins with its name, as soon as the name is certain (Q5, P2)',
  async (wire) => {
    const happened: string[] = []
    const started = gate()
    // On Chat a name is certain with the first piece of its arguments.
    const model = modelOf(wire, stopping(wire, started, wire === 'openai-chat' ? 1 : 0))
    expect(await ran(model, toolsThat(happened, started, true))).toEqual([['prefix', 'committed']])
    expect(happened).toEqual(['search starts', 'search owls 3'])
  },
)

test('in your own loop a tool that needs no member also starts as soon as its name is known (Q5, H37)', async () => {
  const happened: string[] = []
  const started = gate()
  const client = new OpenAI({ apiKey: 'none', maxRetries: 0, logLevel: 'off', fetch: stopping('openai-chat', started) })
  const executor = createToolExecutor({ tools: toolsThat(happened, started), wire: chatWire() })
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Go.' }], stream: true as const }
  for await (const chunk of await client.chat.completions.create(request)) executor.push(chunk)
  expect(happened.at(0)).toBe('search starts')
  await executor.finish()
  expect(happened).toEqual(['search starts', 'search owls 3'])
})

type Streamed = Awaited<ReturnType<Parameters<typeof aiSdk>[0]['doStream']>>['stream']
type Part = Streamed extends ReadableStream<infer Streaming> ? Streaming : never

const PARTS: readonly Part[] = [
  { type: 'tool-input-start', id: 'c1', toolName: 'search' },
  { type: 'tool-input-delta', id: 'c1', delta: '{"q":"owls",' },
  { type: 'tool-input-delta', id: 'c1', delta: '"top":3}' },
  { type: 'tool-input-end', id: 'c1' },
  { type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: '{"q":"owls","top":3}' },
]

function throughTheAiSdk(parts: readonly Part[], { opened }: Gate): Model {
  let asked = 0
  async function* response(): AsyncGenerator<Part> {
    const finish: Part = {
      type: 'finish',
      usage: {
        inputTokens: { total: 1, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, reasoning: undefined },
      },
      finishReason: { unified: asked === 1 ? 'tool-calls' : 'stop', raw: undefined },
    }
    for (const [index, part] of [...(asked === 1 ? parts : []), finish].entries()) {
      if (index === 1 && asked === 1) await opened
      yield part
    }
  }
  return aiSdk({
    specificationVersion: 'v4',
    provider: 'own.chat',
    modelId: 'm',
    supportedUrls: {},
    async doStream() {
      asked++
      return { stream: ReadableStream.from(response()) }
    },
  })
}

test('through the AI SDK a tool that needs no member also starts as soon as its name is known, unless the provider runs it (Q5, G16)', async () => {
  const happened: string[] = []
  const started = gate()
  expect(await ran(throughTheAiSdk(PARTS, started), toolsThat(happened, started))).toEqual([['prefix', 'committed']])
  expect(happened.splice(0)).toEqual(['search starts', 'search owls 3'])
  const own = PARTS.map((part) => ({ ...part, providerExecuted: true }))
  const open = gate()
  open.open()
  await ran(throughTheAiSdk(own, open), toolsThat(happened, open))
  expect(happened).toEqual([])
})

import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Effect, type Tool, tool } from '@meanwhile/core'
import { createToolExecutor, eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { type Quirk, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { chatWire, openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { z } from 'zod'

// Names in pieces, with everything that starts as soon as the name is known: warm-ups, and starts on the members that a tool needs.

const client = (fetch: typeof globalThis.fetch) => new OpenAI({ apiKey: 'none', fetch, maxRetries: 0, logLevel: 'off' })

/** `read` and `read_file`, which write down what happens to them. */
function toolsThat(happened: string[], effect: Effect, needs?: readonly 'path'[]): [Tool, Tool] {
  const toolOf = (name: string): Tool => {
    const common = {
      name,
      description: name,
      input: z.object({ path: z.string(), more: z.number().optional() }),
      effect,
      execute: ({ path }: { readonly path: string }) => void happened.push(`${name} ${path}`),
      ...(effect === 'reversible' && { compensate: () => undefined }),
      ...(effect === 'read' && { warm: () => void happened.push(`${name} is warm`) }),
    }
    if (!needs) return tool(common) as Tool
    return tool({ ...common, needs, execute: async (_, { rest }) => common.execute(await rest) }) as Tool
  }
  return [toolOf('read'), toolOf('read_file')]
}

const cut = quirks.filter(({ id }) => id === 'C47')

test.each(cut)(
  'a name that arrives in pieces does not warm up or start a tool with a shorter name: $title (P2, H31, H33, Q5)',
  async (quirk) => {
    for (const needs of [undefined, ['path'], []] as const) {
      const happened: string[] = []
      const tools = toolsThat(happened, 'read', needs)
      const { fetch } = mockModels({ script: [quirkResponse(quirk, { slice: 'event' }), respond(say('Done.'))] })
      const model = openai({ client: client(fetch), model: 'm', api: 'chat' })
      await createAgent({ model, tools, middleware: [eagerTools()] }).run('Go.')
      expect(happened).toEqual(['read_file is warm', 'read_file a.txt'])
    }
  },
)

test.each(cut)(
  'in your own loop a name in pieces does not start a tool with a shorter name, whatever its effect: $title (P2, H37)',
  async (quirk) => {
    for (const effect of ['read', 'idempotent', 'reversible', 'external'] as const)
      expect(await inOwnLoop(quirk, effect)).toEqual(['read_file a.txt'])
  },
)

async function inOwnLoop(quirk: Quirk, effect: Effect): Promise<string[]> {
  const happened: string[] = []
  const tools = toolsThat(happened, effect)
  const { fetch } = mockModels({ script: [quirkResponse(quirk, { slice: 'event' })] })
  const executor = createToolExecutor({ tools, wire: chatWire() })
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Go.' }], stream: true as const }
  for await (const chunk of await client(fetch).chat.completions.create(request)) executor.push(chunk)
  await executor.finish()
  return happened.filter((what) => !what.endsWith('warm'))
}

test('a name may grow to an alias, and to that of a tool that the request does not offer: then nothing runs (P2, M9, W2)', async () => {
  for (const [name, aliases, runs] of [
    ['read_file', {}, []],
    ['open', { aliases: { names: ['read_file'] } }, ['read_file is warm', 'read_file a.txt']],
  ] as const) {
    const happened: string[] = []
    const [read, file] = toolsThat(happened, 'read')
    const [quirk] = cut
    const { fetch } = mockModels({ script: quirk ? [quirkResponse(quirk), respond(say('Done.'))] : [] })
    const model = openai({ client: client(fetch), model: 'm', api: 'chat' })
    const agent = createAgent({
      model,
      tools: [read, { ...file, name, ...aliases }],
      middleware: [
        {
          name: 'hiding',
          wrapModel: (request, next) =>
            next({ ...request, tools: request.tools.filter((one) => one.name !== 'read_file') }),
        },
        eagerTools(),
      ],
    })
    await agent.run('Go.')
    expect(happened).toEqual(runs)
  }
})

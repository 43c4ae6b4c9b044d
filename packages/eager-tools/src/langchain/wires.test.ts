import { call, respond, say, wait } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { createAgent, tool } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type ChatModelCase, chatModels } from '../../test/chat-models.ts'
import { type Agent, human, settled, shown } from '../../test/langchain.ts'
import { eager } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubEnv('OPENAI_API_KEY', 'none')
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

const script = () => [
  respond(
    call('look', { q: 'a' }, { id: 'call_1' }),
    wait(100),
    call('put', { q: 'b' }, { id: 'call_2' }),
    wait(100),
    say('x'),
  ),
  respond(say('done')),
]

type Go = (agent: Agent) => Promise<unknown>

const streamed: Go = async (agent) => {
  let messages: unknown
  for await (const [mode, chunk] of await agent.stream(human(), { streamMode: ['messages', 'values'] }))
    if (mode === 'values') messages = shown(chunk)
  return messages
}

const blocks: Go = async (agent) => {
  const run = await agent.streamEvents(human(), { version: 'v3' })
  return shown(await run.output)
}

async function came({ model }: ChatModelCase, go: Go, isEager: boolean, alwaysStream: boolean) {
  using mock = mockModels({ script: script() })
  mock.listen()
  const log: string[] = []
  const began = performance.now()
  const working = (name: string) =>
    tool(
      ({ q }) => {
        log.push(`${Math.round(performance.now() - began)} ${name} ${q}`)
        return `${name} ${q}`
      },
      { name, description: name, schema: z.object({ q: z.string() }) },
    )
  const given: object = { model: await model(mock.fetch), tools: [working('look'), working('put')] }
  const effects = { look: 'read', put: 'idempotent' }
  const options = isEager ? eager<object>(given, effects, { alwaysStream }) : given
  const result = await settled(go(createAgent(options as Parameters<typeof createAgent>[0])))
  return { log, result }
}

test.for(chatModels)(
  '$name: a read starts when its arguments have closed, an idempotent call at the end (R2)',
  async (chosen) => {
    const plain = await came(chosen, streamed, false, false)
    const early = await came(chosen, streamed, true, false)
    expect(early.result).toEqual(plain.result)
    expect(plain.log).toEqual(['200 look a', '200 put b'])
    expect(early.log).toEqual(['0 look a', '200 put b'])
  },
)

const inBlocks = chatModels.filter(({ sealed }) => sealed !== undefined)

test.for(inBlocks)('$name, streamed in blocks: a finished block seals the call in it (R2)', async (chosen) => {
  const plain = await came(chosen, blocks, false, false)
  const early = await came(chosen, blocks, true, false)
  expect(early.result).toEqual(plain.result)
  expect(plain.log).toEqual(['200 look a', '200 put b'])
  expect(early.log).toEqual(['0 look a', `${chosen.sealed} put b`])
})

test.for(chatModels)(
  '$name: with alwaysStream a run that does not stream starts reads early, too (R2)',
  async (chosen) => {
    const invoked: Go = async (agent) => shown(await agent.invoke(human()))
    const early = await came(chosen, invoked, true, true)
    expect(early.result).toEqual(['human: go', 'ai: x', 'tool call_1: look a', 'tool call_2: put b', 'ai: done'])
    expect(early.log).toEqual(['0 look a', '200 put b'])
  },
)

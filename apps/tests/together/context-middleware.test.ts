/** Middleware that changes what the model reads (plans, summaries, tools, instructions), with eager tools and in the trace. */

import { call, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type AgentResult, createAgent, type Middleware, type Tool, textOf, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { spanOutline } from '@meanwhile/harness/otlp'
import {
  agentsMd,
  type FileBackend,
  memoryBackend,
  planTasks,
  redact,
  skills,
  summarize,
  toolSearch,
} from '@meanwhile/middleware'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

// The first head of a skill loads a module, which a fake clock does not wait for.
beforeAll(async () => {
  const backend = memoryBackend({ 'skills/a/SKILL.md': '---\nname: a\ndescription: d\n---\n' })
  await createAgent({ model: scriptedModel([done]), middleware: [skills({ backend })] }).run('Go')
})
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
const done = respond(say('Done.'))
/** The call comes at once, and the response is complete 500 ms later. */
const slow = (...calls: ReturnType<typeof call>[]) => respond(...calls, wait(500), say('.'))

const look = tool({
  name: 'look',
  description: 'look',
  effect: 'read',
  input: z.object({ n: z.number() }),
  execute: ({ n }) => new Promise((resolve) => setTimeout(resolve, 400, `seen ${n}`)),
}) as Tool

/** A run with `look`, which takes 400 ms: how long it took, and an outline of its spans. */
async function ran(responses: readonly ScriptResponse[], middleware: readonly Middleware[], used = look) {
  const begin = performance.now()
  exporter.reset()
  const model = scriptedModel(responses)
  const agent = createAgent({ model, tools: [used], middleware, telemetry: { tracerProvider } })
  const settled = agent.run('Go').then((result) => ({ result, took: Math.round(performance.now() - begin) }))
  await vi.runAllTimersAsync()
  const outline = spanOutline(exporter.getFinishedSpans(), { attributes: ['meanwhile.middleware.next_calls'] })
  return { ...(await settled), outline, requests: model.requests }
}

/** The same run without eager tools, with them inside, and outside. */
async function allWays(responses: readonly ScriptResponse[], list: () => readonly Middleware[], used = look) {
  const late = await ran(responses, list(), used)
  const inside = await ran(responses, [...list(), eagerTools()], used)
  const outside = await ran(responses, [eagerTools(), ...list()], used)
  expect(inside.result.messages).toEqual(late.result.messages)
  expect(outside.result.messages).toEqual(late.result.messages)
  return { late, early: inside }
}

/** Files without versions: a digest takes real time, which a fake clock does not wait for. */
function timeless(files: Readonly<Record<string, string>>): FileBackend {
  const read = async (path: string) => ({ bytes: new TextEncoder().encode(files[path]), version: '' })
  return { ...memoryBackend(files), read }
}

const read = ({ messages }: AgentResult) =>
  messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))

test('planTasks and eagerTools: a list of the plan shows its state when the response requests it (N44)', async () => {
  const { early } = await allWays(
    [
      slow(call('task_create', { subject: 'One' })),
      slow(call('task_list'), call('look', { n: 1 })),
      slow(call('task_update', { id: 1, status: 'completed' }), call('look', { n: 2 })),
      slow(call('task_list')),
      done,
    ],
    () => [planTasks()],
  )
  expect(read(early.result).filter((text) => text.startsWith('1 '))).toEqual(['1 [pending] One', '1 [completed] One'])
  expect(early.outline).toMatch(/middleware plan-tasks beforeAgent/)
  expect(early.outline.match(/execute_tool task_\w+/g)).toHaveLength(4)
})

test('summarize and eagerTools: early calls are history like any others; the summary is a chat span inside its hook’s span (N27, N29)', async () => {
  const writer = () =>
    scriptedModel(
      Array.from({ length: 9 }, () => respond(say('In short.'))),
      { id: 'writer' },
    )
  const { late, early } = await allWays([slow(call('look', { n: 1 })), slow(call('look', { n: 2 })), done], () => [
    summarize({ model: writer(), at: { messages: 3 }, keep: { steps: 1, userTokens: 0 } }),
  ])
  expect([late.took, early.took]).toEqual([1_800, 1_000])
  expect(early.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect(early.outline).toMatch(/\n( *)middleware summarize beforeModel.*\n\1 +chat writer/)
  expect(early.outline.match(/chat scripted-1/g)).toHaveLength(3)
})

test('toolSearch and eagerTools: an early search finds nothing for its own response, and what was found starts early (N48, N49)', async () => {
  const far = { ...look, name: 'far' }
  const { late, early } = await allWays(
    [
      slow(call('tool_search', { query: 'far' }), call('far', { n: 1 })),
      slow(call('far', { n: 2 }), call('look', { n: 3 })),
      done,
    ],
    () => [toolSearch({ tools: [far] })],
  )
  expect(read(early.result)).toEqual([
    'far: look',
    'Not run: far was not found yet. Find it with tool_search first, and call it in a later step.',
    'seen 2',
    'seen 3',
  ])
  expect([late.took, early.took]).toEqual([1_400, 1_000])
  expect(early.outline.match(/middleware tool-search wrapToolCall .*next_calls":0/g)).toHaveLength(1)
  expect(early.outline.match(/execute_tool far/g)).toHaveLength(1)
})

test('skills and eagerTools: a skill is read early; a skill that forks runs after its response is accepted (N41, N43)', async () => {
  const head = (name: string, more = '') => `---\nname: ${name}\ndescription: d\n${more}---\n`
  const backend = timeless({
    'skills/a/SKILL.md': `${head('plain')}Be plain.`,
    'skills/b/SKILL.md': `${head('forked', 'context: fork\n')}Be forked.`,
  })
  const taster = () =>
    createAgent({
      name: 'forked',
      model: scriptedModel([respond(wait(300), say('Salty.'))]),
      telemetry: { tracerProvider },
    })
  const calls = [call('skill', { name: 'plain' }), call('look', { n: 1 }), call('skill', { name: 'forked' })]
  const { late, early } = await allWays([slow(...calls), done], () => [skills({ backend, fork: taster })])
  expect(read(early.result)).toEqual(['Be plain.', 'seen 1', 'Salty.'])
  expect([late.took, early.took]).toEqual([900, 800])
  expect(early.outline).toMatch(/\n( *)execute_tool skill.*\n\1 +invoke_agent forked/)
  expect(early.outline).toMatch(/middleware skills beforeAgent/)
})

test('agentsMd and eagerTools: each request has the instructions, and no message of the run has them (N53)', async () => {
  const backend = timeless({ 'AGENTS.md': 'Be kind.' })
  const { late, early } = await allWays([slow(call('look', { n: 1 })), done], () => [agentsMd({ backend })])
  expect([late.took, early.took]).toEqual([900, 500])
  for (const { messages } of early.requests) expect(JSON.stringify(messages[0])).toContain('Be kind.')
  expect(JSON.stringify(early.result.messages)).not.toContain('Be kind.')
  expect(early.outline).toMatch(/middleware agents-md beforeAgent/)
  expect(early.outline.match(/middleware agents-md wrapModel/g)).toHaveLength(2)
})

test('redact and eagerTools: the tool receives a secret in its input early, and its call is not discarded (N59, H16)', async () => {
  const key = `sk-${'k3Y'.repeat(8)}`
  const use = tool({
    name: 'look',
    description: 'look',
    effect: 'read',
    input: z.object({ key: z.string() }),
    execute: ({ key }) => new Promise((resolve) => setTimeout(resolve, 400, `used ${key}`)),
  }) as Tool
  const { late, early } = await allWays(
    [respond(say(`With ${key} `), call('look', { key }), wait(500), say(`again ${key}.`)), done],
    () => [redact({ persist: true })],
    use,
  )
  expect([late.took, early.took]).toEqual([900, 500])
  expect(read(early.result)).toEqual(['used [api-key]'])
  expect(JSON.stringify(early.requests[1]?.messages)).not.toContain(key)
  expect(early.outline).toMatch(/middleware redact beforeAgent/)
  expect(early.outline).toMatch(/middleware redact wrapModel.*next_calls":1/)
  expect(early.outline).toMatch(/middleware redact wrapToolCall.*\n +execute_tool look/)
  expect(early.outline.match(/execute_tool look/g)).toHaveLength(1)
})

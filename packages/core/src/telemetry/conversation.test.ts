import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Observed, observed } from '../../test/observed.ts'
import {
  type Agent,
  agentTool,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'

// `gen_ai.conversation.id`: which spans have it, and that a resumed run belongs to the conversation in which it began.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const pass: Middleware = { name: 'pass', wrapModel: (request, next) => next(request) }

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: (_, { answers }) => (answers.length > 0 ? 'told' : interrupt('Well?')),
}) as Tool

/** Calls an agent whose tool asks. The part after the question has only the answers. */
function agentIn({ telemetry }: Observed, part: 'before' | 'after'): Agent {
  const says = (tool: string) => [
    ...(part === 'before' ? [respond(call(tool, tool === 'ask' ? {} : { request: 'What?' }))] : []),
    respond(say('Done.')),
  ]
  const inner = createAgent({
    name: 'inner',
    description: 'Knows.',
    model: scriptedModel(says('ask')),
    tools: [ask],
    middleware: [pass],
    telemetry,
  })
  return createAgent({
    name: 'outer',
    model: scriptedModel(says('inner')),
    tools: [agentTool(inner) as Tool],
    middleware: [pass],
    telemetry,
  })
}

async function played<Result>(work: Promise<Result>): Promise<Result> {
  const done = work.then((result) => result)
  await vi.runAllTimersAsync()
  return done
}

/** The conversations of the spans, by the first word of their names. */
function conversations({ spans }: Observed): Readonly<Record<string, readonly unknown[]>> {
  const found: Record<string, unknown[]> = {}
  for (const { name, attributes } of spans()) {
    const kind = name.split(' ')[0] ?? ''
    found[kind] = [...new Set([...(found[kind] ?? []), attributes['gen_ai.conversation.id']])]
  }
  return found
}

const all = (id: string | undefined) => ({
  chat: [id],
  execute_tool: [id],
  invoke_agent: [id],
  middleware: [undefined],
})

test('the conversation is on the spans of the run, its model calls and its tool calls, also of inner agents', async () => {
  const here = observed()
  await played(agentIn(here, 'before').run('Go', { conversationId: 'talk' }))
  expect(conversations(here)).toEqual(all('talk'))

  const alone = observed()
  const { checkpoint } = await played(agentIn(alone, 'before').run('Go')).then((result) => {
    if (result.status !== 'interrupted') throw new Error(result.status)
    return result
  })
  expect(conversations(alone)).toEqual(all(undefined))
  expect(checkpoint).not.toHaveProperty('conversationId')
})

test.each(['checkpoint', 'id'] as const)(
  'a resume by its %s belongs to the conversation of the checkpoint, unless it names another (L12)',
  async (by) => {
    const here = observed()
    const checkpoints = memoryStore()
    const result = await played(agentIn(here, 'before').run('Go', { conversationId: 'talk', checkpoints }))
    if (result.status !== 'interrupted') throw new Error(result.status)
    const { checkpoint, interrupts } = result
    expect(checkpoint.conversationId).toBe('talk')
    const answers = Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
    const from = by === 'id' ? checkpoint.runId : checkpoint

    const other = observed()
    const named = agentIn(other, 'after').resume(checkpoint, answers, { conversationId: 'other' }).result
    expect((await played(named)).status).toBe('completed')
    expect(conversations(other)).toEqual(all('other'))

    here.reset()
    const resumed = agentIn(here, 'after').resume(from, answers, { checkpoints }).result
    expect((await played(resumed)).status).toBe('completed')
    expect(conversations(here)).toEqual(all('talk'))
    await expect(checkpoints.load(checkpoint.runId)).resolves.toMatchObject({ conversationId: 'talk' })
  },
)

test('no token is counted twice if the usage of all spans is added up, inner agents included', async () => {
  const here = observed()
  const usage = { inputTokens: 10, outputTokens: 5 }
  const model = scriptedModel([
    respond(call('expert', { request: 'What?' })),
    respond(say('42')),
    respond(say('Done.')),
  ])
  const metered = {
    ...model,
    async *stream(...[request]: Parameters<typeof model.stream>) {
      return { ...(yield* model.stream(request)), usage }
    },
  }
  const expert = createAgent({
    name: 'expert',
    description: 'Knows.',
    model: metered,
    telemetry: here.telemetry,
  })
  const agent = createAgent({ model: metered, tools: [agentTool(expert) as Tool], telemetry: here.telemetry })
  const result = await played(agent.run('Go'))
  const sum = (name: string) => here.spans().reduce((all, span) => all + Number(span.attributes[name] ?? 0), 0)
  expect(result.usage).toMatchObject({ inputTokens: 30, outputTokens: 15 })
  expect([sum('gen_ai.usage.input_tokens'), sum('gen_ai.usage.output_tokens')]).toEqual([
    result.usage.inputTokens,
    result.usage.outputTokens,
  ])
})

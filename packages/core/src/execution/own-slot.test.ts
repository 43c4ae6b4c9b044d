import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Agent, agentTool, createAgent, interrupt, type Run, type Tool, type ToolContext, tool } from '../index.ts'
import { call, respond, say, scriptedModel } from '../testing.ts'

// Tools with a limit over all runs, whose executions come back to the same tool: they do not wait for themselves.

/** What `work` was entered with. */
let entered: number[] = []

beforeEach(() => {
  vi.useFakeTimers()
  entered = []
})
afterEach(() => void vi.useRealTimers())

const input = z.object({ depth: z.number() })

/** A tool that one execution at a time may have; `inner` is what it does on its way down. */
function limited(inner: (depth: number, context: ToolContext) => Promise<unknown>, more: Partial<Tool> = {}): Tool {
  const work = tool({
    name: 'work',
    description: 'Calls itself.',
    input,
    concurrency: 1,
    execute({ depth }, context) {
      entered.push(depth)
      return depth === 0 ? 'the bottom' : inner(depth - 1, context)
    },
  }) as Tool
  return Object.assign(work, more)
}

/** An agent that calls `name` once, and answers with what that gave. */
function caller(tools: readonly Tool[], name: string, args: object, more: object = {}): Agent {
  const model = scriptedModel([respond(call(name, args, { id: name })), respond(say(`${name} is done.`))])
  return createAgent({ name: `calls-${name}`, model, tools, ...more })
}

async function outputs(agent: Agent): Promise<readonly unknown[]> {
  const result = agent.run('Go')
  await vi.runAllTimersAsync()
  return (await result).messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))
}

test('an agent inside a call of a tool with a limit calls that tool in the slot of its caller (P25)', async () => {
  const work = limited(async (depth, context) =>
    agentTool(caller([work], 'work', { depth }), { name: 'inner', description: 'i' }).execute?.(
      { request: 'Go' },
      context,
    ),
  )
  expect(await outputs(caller([work], 'work', { depth: 1 }))).toEqual(['work is done.'])
})

test('through any number of agents and calls a tool with a limit does not wait for itself (P25)', async () => {
  const work = limited(async (depth, context) => {
    const next = caller([work, through], depth === 0 ? 'work' : 'through', { depth })
    const result = await agentTool(next, { name: 'next', description: 'n' }).execute?.({ request: 'Go' }, context)
    return `${depth}: ${String(result)}`
  })
  const through: Tool = tool({
    name: 'through',
    description: 'Calls work.',
    input,
    execute: async ({ depth }, { run, callId }) =>
      (await (run as Run).callTool({ type: 'tool-call', id: `${callId}.`, name: 'work', input: { depth } })).output,
  }) as Tool
  expect(await outputs(caller([work, through], 'work', { depth: 3 }))).toEqual(['2: through is done.'])
})

test('with whenFull fail a tool is not busy with the call that its own execution serves (P25, I8)', async () => {
  const work = limited(
    async (depth, context) =>
      agentTool(caller([work], 'work', { depth }), { name: 'next', description: 'n' }).execute?.(
        { request: 'Go' },
        context,
      ),
    { concurrency: { limit: 1, whenFull: 'fail' } },
  )
  await outputs(caller([work], 'work', { depth: 1 }))
  expect(entered).toEqual([1, 0])
})

test('after a resume, too, an agent works in the slot of its caller (P25, L9)', async () => {
  const asks = tool({
    name: 'asks',
    description: 'Asks.',
    input: z.object({}),
    execute: (_, { answers }) => (answers.length > 0 ? 'told' : interrupt('Well?')),
  }) as Tool
  const calls = [call('asks', {}, { id: 'q' }), call('work', { depth: 0 }, { id: 'w' })]
  const agentIn = (part: 'before' | 'after') => {
    const done = respond(say('The child is done.'))
    const model = scriptedModel(part === 'before' ? [respond(...calls)] : [done])
    // One call at a time: that of the limited tool is made after the answer.
    const child = (work: Tool) => createAgent({ name: 'child', model, tools: [asks, work], toolConcurrency: 1 })
    const work: Tool = limited(async (_, context) =>
      agentTool(child(work), { name: 'child', description: 'c' }).execute?.({ request: 'Go' }, context),
    )
    return part === 'before'
      ? caller([work], 'work', { depth: 1 })
      : createAgent({ name: 'calls-work', model: scriptedModel([respond(say('Done.'))]), tools: [work] })
  }
  const first = agentIn('before').run('Go')
  await vi.runAllTimersAsync()
  const interrupted = await first
  if (interrupted.status !== 'interrupted') throw new Error(interrupted.status)
  const answers = Object.fromEntries(interrupted.interrupts.map(({ id }) => [id, 'yes']))
  const resumed = agentIn('after').resume(interrupted.checkpoint, answers).result
  await vi.runAllTimersAsync()
  expect(await resumed).toMatchObject({ status: 'completed', text: 'Done.' })
})

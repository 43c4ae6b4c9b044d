import { call, respond, type ScriptStep, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import { played } from '../../test/played-runs.ts'
import {
  agentTool,
  createAgent,
  type Middleware,
  type Run,
  type Tool,
  type ToolCall,
  type ToolMessage,
  textOf,
} from '../index.ts'

// Calls that wait for each other: for keys, for slots, and for results that a tool asks for.

let did: string[] = []
beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})

const toolOf = (name: string, execute: (run: Run | undefined) => unknown, more: Partial<Tool> = {}): Tool => ({
  name,
  description: name,
  input,
  execute: async (_, { run }) => {
    did.push(`${name} begins`)
    const output = await execute(run)
    did.push(`${name} ends`)
    return output
  },
  ...more,
})

const callOf = (id: string, name: string): ToolCall => ({ type: 'tool-call', id, name, input: {} })

/** Asks for another call, and returns its text or the name of the error. */
const asking = (id: string, name: string) => async (run: Run | undefined) => {
  try {
    return textOf((await run?.callTool(callOf(id, name))) as ToolMessage)
  } catch (error) {
    return (error as Error).name
  }
}

const keyed = { writes: () => ['file'] }

async function resultsOf(tools: readonly Tool[], steps: readonly ScriptStep[], more = {}): Promise<readonly string[]> {
  const model = scriptedModel([respond(...steps), respond(say('Done.'))])
  const { result } = await played(createAgent({ model, tools, ...more }).stream('Go'))
  return result.messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
}

test('a tool that asks for a later call, which waits for the key of that tool, gets a ToolCircleError (W10)', async () => {
  const first = toolOf('first', asking('b', 'second'), keyed)
  const second = toolOf('second', () => 'seen', keyed)
  const steps = [call('first', {}, { id: 'a' }), call('second', {}, { id: 'b' })]
  expect(await resultsOf([first, second], steps)).toEqual(['ToolCircleError', 'seen'])
  expect(did).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
})

test('a call that begins to wait for the key of the tool that asks for it gets an error result (W10)', async () => {
  const first = toolOf('first', asking('b', 'second'), keyed)
  const schema = z.object({}).refine(() => sleep(5).then(() => true))
  const second = toolOf('second', () => 'seen', { ...keyed, input: schema })
  const steps = [call('first', {}, { id: 'a' }), call('second', {}, { id: 'b' })]
  const circle = 'Not run: second waits for call a, which ends only after this call.'
  expect(await resultsOf([first, second], steps)).toEqual([circle, circle])
  expect(did).toEqual(['first begins', 'first ends'])
})

test('a circle of keys through two tools that ask for calls ends, too (W10)', async () => {
  const first = toolOf('first', asking('b', 'second'), keyed)
  const second = toolOf('second', (run) => run?.callTool(callOf('inner', 'third')).then(textOf))
  const third = toolOf('third', () => 'seen', keyed)
  const steps = [call('first', {}, { id: 'a' }), call('second', {}, { id: 'b' })]
  const circle = 'Not run: third waits for call a, which ends only after this call.'
  expect(await resultsOf([first, second, third], steps)).toEqual([circle, circle])
})

test('two calls that ask for each other get a ToolCircleError (W10)', async () => {
  const first = toolOf('first', async (run) => {
    await sleep(5)
    return await asking('b', 'second')(run)
  })
  const second = toolOf('second', asking('a', 'first'))
  const steps = [call('first', {}, { id: 'a' }), call('second', {}, { id: 'b' })]
  expect(await resultsOf([first, second], steps)).toEqual(['ToolCircleError', 'ToolCircleError'])
})

test('a call that a running tool asks for uses the slot of that tool (W10)', async () => {
  const asks = toolOf('asks', asking('b', 'second'))
  const also = toolOf('also', asking('b', 'second'))
  const second = toolOf('second', () => 'seen')
  const steps = [call('asks', {}, { id: 'a' }), call('also', {}, { id: 'c' }), call('second', {}, { id: 'b' })]
  expect(await resultsOf([asks, also, second], steps, { toolConcurrency: 2 })).toEqual(['seen', 'seen', 'seen'])
})

test('two calls that each hold the slot of a limited tool, and make a call of the other tool, both end (W9)', async () => {
  const limited = { concurrency: 1 }
  const other: Record<string, string> = { left: 'right', right: 'left' }
  const sideOf = (name: string): Tool =>
    ({
      name,
      description: name,
      input: z.object({ last: z.boolean().optional() }),
      ...limited,
      async execute({ last }: { last?: boolean }, { run }) {
        did.push(name)
        await sleep(10)
        if (last || !run) return name
        const inner = { ...callOf('inner', other[name] ?? ''), input: { last: true } }
        return `${name} and ${textOf(await run.callTool(inner))}`
      },
    }) as Tool
  const tools = [sideOf('left'), sideOf('right')]
  const agentOf = (name: string) => {
    const model = scriptedModel([respond(call(name, {})), respond(say('Done.'))])
    return createAgent({ model, tools })
  }
  const [left, right] = await Promise.all([played(agentOf('left').stream('Go')), played(agentOf('right').stream('Go'))])
  const textsIn = ({ result }: typeof left) =>
    result.messages.flatMap((one) => (one.role === 'tool' ? [textOf(one)] : []))
  expect([textsIn(left), textsIn(right)]).toEqual([['left and right'], ['right and left']])
  expect(did).toEqual(['left', 'right', 'right', 'left'])
})

test('a call of an agent inside a call with a slot waits for no slot either (W9)', async () => {
  let running = 0
  let most = 0
  const busy = toolOf(
    'busy',
    async () => {
      most = Math.max(most, ++running)
      await sleep(50)
      running--
    },
    { concurrency: 1 },
  )
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(call('busy', {})), respond(say('Done.'))]),
    tools: [busy],
  })
  const limited = { ...agentTool(inner), concurrency: 1 } as Tool
  await resultsOf([busy, limited], [call('busy', {}), call('inner', { request: 'Go' })])
  expect(most).toBe(2)
})

test('a call that must not wait fails, also inside a call with a slot (W9)', async () => {
  const busy = toolOf('busy', () => sleep(50), { concurrency: { limit: 1, whenFull: 'fail' } })
  const outer = toolOf('outer', asking('inner', 'busy'), { concurrency: 1 })
  const results = await resultsOf([busy, outer], [call('busy', {}), call('outer', {})])
  expect(results).toEqual(['', 'Not run: busy is already running 1 call, its maximum.'])
})

test.each([[[]], [[startingEarly({ ceiling: 'calls' })]]])(
  'a write and a read of one maker keep the order in which they were made (W10)',
  async (middleware) => {
    const write = toolOf('write', () => sleep(10), keyed)
    const read = toolOf('read', () => 'seen', { effect: 'read', reads: () => ['file'] })
    const both = toolOf(
      'both',
      (run) =>
        Promise.all([run?.callTool(callOf('w', 'write')), run?.callTool(callOf('r', 'read'))]).then(() => 'both'),
      { effect: 'calls' },
    )
    expect(await resultsOf([write, read, both], [call('both', {}), wait(50)], { middleware })).toEqual(['both'])
    expect(did).toEqual(['both begins', 'write begins', 'write ends', 'read begins', 'read ends', 'both ends'])
  },
)

test('a limited tool that asks for another call of its own tool, or of another limited tool, does not wait for a slot (W9)', async () => {
  const limited = { concurrency: 1 }
  const first = toolOf('first', asking('b', 'second'), limited)
  const second = toolOf('second', () => 'seen', limited)
  const steps = [call('first', {}, { id: 'a' }), call('second', {}, { id: 'c' }), call('second', {}, { id: 'b' })]
  expect(await resultsOf([first, second], steps)).toEqual(['seen', 'seen', 'seen'])
  const both: Tool = {
    ...second,
    execute: (_, { callId, run }) => (callId === 'a' ? asking('b', 'second')(run) : 'seen'),
  }
  expect(await resultsOf([both], [call('second', {}, { id: 'a' }), call('second', {}, { id: 'b' })])).toEqual([
    'seen',
    'seen',
  ])
})

test('a circle is found when a call in between begins to wait later (W10)', async () => {
  const first = toolOf('first', asking('b', 'second'))
  const between = toolOf('between', () => 'seen')
  const second = toolOf('second', () => 'seen')
  const slowly: Middleware = {
    name: 'slowly',
    async *wrapToolCall(one, next) {
      if (one.name === 'between') await sleep(50)
      return yield* next(one)
    },
  }
  const steps = [call('first', {}, { id: 'a' }), call('between', {}, { id: 'c' }), call('second', {}, { id: 'b' })]
  const results = await resultsOf([first, between, second], steps, { toolConcurrency: 1, middleware: [slowly] })
  expect(results).toContain('seen')
  expect(results.some((text) => text.includes('which ends only after this call'))).toBe(true)
})

test('a keyed call in front of one that running tools ask for gets a slot, although they hold them all (W10)', async () => {
  const asks = toolOf('asks', asking('b', 'second'))
  const second = toolOf('second', () => 'seen', keyed)
  const steps = [
    call('asks', {}, { id: 'a' }),
    call('asks', {}, { id: 'd' }),
    call('second', {}, { id: 'c' }),
    call('second', {}, { id: 'b' }),
  ]
  expect(await resultsOf([asks, second], steps, { toolConcurrency: 2 })).toEqual(['seen', 'seen', 'seen', 'seen'])
})

test('calls that ask for each other one after another, without waiting, make no circle, whatever slots they need then (W9)', async () => {
  const limited = { concurrency: 1 }
  let executions = 0
  const first = toolOf('first', (run) => void run?.callTool(callOf('b', 'second')))
  const second = toolOf(
    'second',
    async (run) => {
      executions++
      await sleep(20)
      return await asking('a', 'first')(run)
    },
    limited,
  )
  const twice: Middleware = {
    name: 'twice',
    async *wrapToolCall(one, next) {
      yield* next(one)
      return yield* next(one)
    },
  }
  const steps = [call('first', {}, { id: 'a' }), call('second', {}, { id: 'b' })]
  expect(await resultsOf([first, second], steps, { middleware: [twice] })).toEqual(['', ''])
  expect(executions).toBe(2)
})

test('an inner call that its maker does not wait for may ask for the maker of that maker, whatever slots it needs then (W9)', async () => {
  let executions = 0
  const outer = toolOf('outer', async (run) => {
    await run?.callTool(callOf('b', 'middle'))
    await sleep(50)
  })
  const middle = toolOf('middle', (run) => void run?.callTool(callOf('c', 'inner')))
  const inner = toolOf(
    'inner',
    async (run) => {
      executions++
      await sleep(10)
      return await asking('a', 'outer')(run)
    },
    { concurrency: 1 },
  )
  const twice: Middleware = {
    name: 'twice',
    async *wrapToolCall(one, next) {
      if (one.name === 'inner') yield* next(one)
      return yield* next(one)
    },
  }
  const later = toolOf('later', () => sleep(200))
  const steps = [call('outer', {}, { id: 'a' }), call('later', {}, { id: 'd' })]
  expect(await resultsOf([outer, middle, inner, later], steps, { middleware: [twice] })).toEqual(['', ''])
  expect(executions).toBe(2)
})

import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { ConfigError, createAgent, type Middleware, type Tool, tool } from '../index.ts'
import { call, collect, respond, say, scriptedModel } from '../testing.ts'

const input = z.object({ path: z.string(), from: z.number().optional() })
const plain = { name: 'read', description: 'Reads.', input, execute: () => 'text' }

test.each<[string, Partial<Tool>, RegExp]>([
  ['needs and no effect', { needs: ['path'] }, /read has needs and is not declared read or calls/],
  ['warm and no effect', { warm: () => 1 }, /read has warm and is not declared read or calls/],
  ['needs, idempotent', { needs: ['path'], effect: 'idempotent' }, /needs/],
  ['warm, external', { warm: () => 1, effect: 'external' }, /warm/],
  ['needs, computed', { needs: ['path'], effect: () => 'read' }, /needs/],
  ['no member', { needs: [], effect: 'read' }, /the needs of read/],
  ['no list', { needs: 'path' as never, effect: 'read' }, /the needs of read/],
  ['no names', { needs: [1] as never, effect: 'read' }, /the needs of read/],
])(
  'needs or warm are for tools declared read or calls, and needs name members: %s (H33, A2, Q4)',
  async (_, more, problem) => {
    const read = { ...plain, ...more } as Tool
    const model = scriptedModel([])
    expect(() => createAgent({ model, tools: [read] })).toThrow(problem)
    expect(() => createAgent({ model, tools: [read] })).toThrow(ConfigError)
    const bringing: Middleware = { name: 'bringing', beforeAgent: (setup) => ({ ...setup, tools: [read] }) }
    await expect(createAgent({ model, middleware: [bringing] }).run('Go')).rejects.toThrow(problem)
  },
)

test('a model is told of what a tool needs, unless calls may not start with it (H31)', async () => {
  const read = { ...plain, effect: 'read', needs: ['path'] } as Tool
  const asked = async (middleware: readonly Middleware[], prepareInput?: (input: unknown) => unknown) => {
    const model = scriptedModel([respond(say('Done.'))])
    await createAgent({ model, tools: [read], middleware, ...(prepareInput && { prepareInput }) }).run('Go')
    return model.requests[0]?.tools.map((tool) => tool.needs)
  }
  const wrap = (more: Partial<Middleware> = {}): Middleware => ({
    name: 'wrap',
    wrapToolCall: (call, next) => next(call),
    ...more,
  })
  expect(await asked([])).toEqual([['path']])
  expect(await asked([wrap({ ignoresInput: true })])).toEqual([['path']])
  expect(await asked([wrap()])).toEqual([undefined])
  expect(await asked([], (input) => input)).toEqual([undefined])
})

test('what a tool with needs reads is judged by the whole input, so that its calls do not start with a part of it (H14, H31)', async () => {
  const judged: unknown[] = []
  const got: unknown[] = []
  const read = tool({
    ...plain,
    effect: 'read',
    needs: ['path'],
    reads(whole) {
      judged.push(whole)
      return [`${whole.path}:${whole.from}`]
    },
    execute: async (needed, { rest }) => void got.push(needed, await rest),
  }) as Tool
  const parted: Middleware = {
    name: 'parted',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        if (step.value.type === 'tool-input-start') {
          const { id, name } = step.value
          const whole = { type: 'tool-call', id, name, input: { path: 'a', from: 1 } } as const
          const rest = new Promise<typeof whole>((resolve) => setTimeout(() => resolve(whole), 20))
          run.callTool({ ...whole, input: { path: 'a' } }, { rest }).catch(() => undefined)
          await new Promise((resolve) => setTimeout(resolve, 10))
          expect([judged, got]).toEqual([[], []])
        }
        yield step.value
      }
    },
  }
  const model = scriptedModel([respond(call('read', { path: 'a', from: 1 }, { id: 'c' })), respond(say('Done.'))])
  await createAgent({ model, tools: [read], middleware: [parted] }).run('Go')
  expect(model.requests[0]?.tools.map(({ needs }) => needs)).toEqual([undefined])
  expect(judged).toEqual([{ path: 'a', from: 1 }])
  expect(got).toEqual([{ path: 'a' }, { path: 'a', from: 1 }])
})

test('nobody starts anything by itself: without eager tools a ready call waits for its model call (H1, H31)', async () => {
  const read = tool({
    ...plain,
    effect: 'read',
    needs: ['path'],
    execute: async ({ path }, { rest }) => [path, (await rest).from],
  })
  const model = scriptedModel([respond(call('read', { path: 'a', from: 1 }, { id: 'c' })), respond(say('Done.'))])
  const { events } = await collect(createAgent({ model, tools: [read as Tool] }).stream('Go'))
  const types = events.map(({ type }) => type)
  expect(types.indexOf('tool-input-ready')).toBeLessThan(types.indexOf('tool-input-closed'))
  expect(types.indexOf('tool-start')).toBeGreaterThan(types.indexOf('tool-call'))
  expect(events.find((event) => event.type === 'tool-end')?.message.output).toEqual(['a', 1])
})

test('execute of a tool with needs has these members and the rest, of any other the whole input (H31)', () => {
  tool({
    ...plain,
    effect: 'read',
    needs: ['path'],
    warm: async () => 7,
    execute(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ path: string }>()
      expectTypeOf(context.rest).resolves.toEqualTypeOf<{ path: string; from?: number | undefined }>()
      expectTypeOf(context.warmed).toEqualTypeOf<Promise<number | undefined> | undefined>()
    },
  })
  tool({
    ...plain,
    execute(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ path: string; from?: number | undefined }>()
      expectTypeOf(context).not.toHaveProperty('rest')
    },
  })
  // @ts-expect-error There is no such member.
  tool({ ...plain, effect: 'read', needs: ['pth'] })
  expect(tool(plain)).toBe(plain)
})

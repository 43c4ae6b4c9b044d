import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns, sized } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { createAgent, type Tool, ToolCircleError, type ToolContext, textOf, tool } from '../index.ts'

unhandledRejections()

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Job {
  readonly path?: string | undefined
  readonly ms?: number | undefined
  readonly reads?: string[] | undefined
  readonly writes?: string[] | undefined
  /** The inner calls that it makes, all at once, before its own work. */
  readonly makes?: readonly { readonly id: string; readonly job: Job }[] | undefined
}
const job: z.ZodType<Job> = z.lazy(() =>
  z.object({
    path: z.string().optional(),
    ms: z.number().optional(),
    reads: z.array(z.string()).optional(),
    writes: z.array(z.string()).optional(),
    makes: z.array(z.object({ id: z.string(), job })).optional(),
  }),
)

/** A tool that names the keys and makes the calls in its input, and a log of what executes when. */
function workshop(more: Pick<Tool, 'concurrency'> = {}) {
  const start = performance.now()
  const log: string[] = []
  const note = (what: string, id: string) => void log.push(`${Math.round(performance.now() - start)} ${what} ${id}`)
  const work = tool<Job, unknown>({
    name: 'work',
    description: 'Works.',
    input: job,
    reads: ({ reads = [] }) => reads,
    writes: ({ writes = [] }) => writes,
    async execute({ ms = 10, makes = [] }: Job, { callId, run }: ToolContext) {
      note('start', callId)
      if (!run) throw new Error('there is no run')
      const made = makes.map(({ id, job }) => run.callTool({ type: 'tool-call', id, name: 'work', input: job }))
      const given = await Promise.all(made)
      await sleep(ms)
      note('end', callId)
      return given.map((message) => textOf(message))
    },
    ...more,
  })
  return { log, work: work as Tool }
}

async function run(
  jobs: readonly (readonly [id: string, job: Job])[],
  work: Tool,
  options: { readonly innerConcurrency?: number; readonly toolConcurrency?: number } = {},
) {
  const calls = jobs.map(([id, job]) => call('work', { ...job }, { id }))
  const running = createAgent({
    model: scriptedModel([respond(...calls), respond(say('done'))]),
    tools: [work],
    ...options,
  })
  const result = running.run('Go')
  await vi.runAllTimersAsync()
  return result
}

const made = (id: string, job: Job) => ({ id, job })

test('an inner call waits while another call that writes its key executes, and blocks those that come after (Q8)', async () => {
  const { log, work } = workshop()
  await run(
    [
      ['writer', { writes: ['k'], ms: 30 }],
      ['maker', { makes: [made('inner', { writes: ['k'], ms: 20 })], ms: 0 }],
      ['reader', { reads: ['k'], ms: 5, makes: [] }],
    ],
    work,
  )
  expect(log).toEqual([
    '0 start writer',
    '0 start maker',
    '30 end writer',
    '30 start inner',
    '50 end inner',
    '50 start reader',
    '50 end maker',
    '55 end reader',
  ])
})

test('inner calls of different makers overlap as readers of a key, but not as its writers (Q8)', async () => {
  const { log, work } = workshop()
  await run(
    [
      ['a', { makes: [made('reads', { reads: ['k'] }), made('reads too', { reads: ['k'] })], ms: 0 }],
      ['b', { makes: [made('writes', { writes: ['k'] })], ms: 0 }],
    ],
    work,
  )
  expect(log.filter((line) => !/ [ab]$/.test(line))).toEqual([
    '0 start reads',
    '0 start reads too',
    '10 end reads',
    '10 end reads too',
    '10 start writes',
    '20 end writes',
  ])
})

test('a call never waits for a key that its maker, or the maker of that, holds (Q8)', async () => {
  const { log, work } = workshop()
  const innermost = made('innermost', { writes: ['k'] })
  await run([['maker', { writes: ['k'], makes: [made('inner', { writes: ['k'], makes: [innermost] })] }]], work)
  expect(log.map((line) => line.split(' ').slice(1).join(' '))).toEqual([
    'start maker',
    'start inner',
    'start innermost',
    'end innermost',
    'end inner',
    'end maker',
  ])
})

test('an inner call needs no slot of its run, and takes a slot of its own tool (Q9)', async () => {
  const { log, work } = workshop({ concurrency: 2 })
  await run(
    [
      ['a', { makes: [made('inner', { ms: 10 })], ms: 0 }],
      ['b', { ms: 30 }],
    ],
    work,
    { toolConcurrency: 1 },
  )
  expect(log).toEqual(['0 start a', '0 start inner', '10 end inner', '10 end a', '10 start b', '40 end b'])
})

test('at most `innerConcurrency` inner calls of each maker execute at the same time, in the order in which they were made (Q10)', async () => {
  const { log, work } = workshop()
  const three = (name: string) => ['1', '2', '3'].map((n) => made(`${name}${n}`, { ms: 10 }))
  await run(
    [
      ['a', { makes: three('a'), ms: 0 }],
      ['b', { makes: three('b'), ms: 0 }],
    ],
    work,
    { innerConcurrency: 2 },
  )
  expect(log.filter((line) => /\d$/.test(line))).toEqual([
    '0 start a1',
    '0 start a2',
    '0 start b1',
    '0 start b2',
    '10 end a1',
    '10 start a3',
    '10 end a2',
    '10 end b1',
    '10 start b3',
    '10 end b2',
    '20 end a3',
    '20 end b3',
  ])
})

test.for([0, 1.5, '2', Number.NaN])('innerConcurrency %s is refused (Q10)', (innerConcurrency) => {
  const { work } = workshop()
  const options = { model: scriptedModel([]), tools: [work], innerConcurrency: innerConcurrency as number }
  expect(() => createAgent(options)).toThrow('innerConcurrency')
})

test('if two calls each have an inner call that needs a key of the other, the one that would close the circle fails, and the rest goes on (Q11)', async () => {
  const { log, work } = workshop()
  const result = await run(
    [
      ['a', { writes: ['x'], makes: [made('a1', { writes: ['y'] })], ms: 5 }],
      ['b', { writes: ['y'], makes: [made('b1', { writes: ['x'] })], ms: 5 }],
    ],
    work,
  )
  expect(log).toEqual(['0 start a', '0 start b', '5 end b', '5 start a1', '15 end a1', '20 end a'])
  const refusal = new ToolCircleError('work', 'a').message
  expect(result.messages.slice(2, 4)).toMatchObject([
    { callId: 'a', output: ['[]'] },
    { callId: 'b', output: [refusal] },
  ])
})

test('work in the background takes no keys: it waits for no call, and no call waits for it (Q8, I15)', async () => {
  const { log, work } = workshop()
  const behind: Tool = { ...work, name: 'behind', background: true }
  const model = scriptedModel([
    respond(
      call('work', { writes: ['k'], ms: 30 }, { id: 'writer' }),
      call('behind', { writes: ['k'], ms: 10 }, { id: 'work' }),
      call('work', { ms: 0, makes: [made('inner', { writes: ['k'], ms: 10 })] }, { id: 'maker' }),
    ),
    respond(say('done')),
  ])
  const result = createAgent({ model, tools: [work, behind] }).run('Go')
  await vi.runAllTimersAsync()
  await result
  expect(log.filter((line) => !line.endsWith('maker'))).toEqual([
    '0 start writer',
    '0 start work',
    '10 end work',
    '30 end writer',
    '30 start inner',
    '40 end inner',
  ])
})

const MANY = sized({ small: 100, middle: 150, whole: 1_000 })

test.for<readonly [what: string, job: Job, options: { readonly innerConcurrency?: number }]>([
  ['of which four may execute at once', {}, { innerConcurrency: 4 }],
  [
    'that each make a call which writes the key, too',
    { writes: ['k'], makes: [made('i', { writes: ['k'], ms: 0 })] },
    {},
  ],
])('each of many calls of one maker %s ends (Q8, Q10)', async ([_, job, options]) => {
  const { log, work } = workshop()
  const makes = Array.from({ length: MANY }, (_, n) => made(`inner ${n}`, { ...job, ms: 0 }))
  const result = await run([['maker', { makes, ms: 0 }]], work, options)
  expect(result.status).toBe('completed')
  expect(log.filter((line) => line.includes('end inner'))).toHaveLength(MANY)
})

test('for any tree of calls and any keys, no two calls write one key at the same time unless one is an inner call of the other, and all end (Q8, Q10, Q11)', async () => {
  const keys = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 })
  const leaf = fc.record({ ms: fc.integer({ min: 0, max: 20 }), reads: keys, writes: keys })
  const { tree } = fc.letrec<{ tree: Job }>((tie) => ({
    tree: fc.record({
      ms: fc.integer({ min: 0, max: 20 }),
      reads: keys,
      writes: keys,
      makes: fc.oneof(
        { maxDepth: 2 },
        fc.constant([]),
        fc.array(fc.record({ id: fc.constant('inner'), job: fc.oneof(leaf, tie('tree')) }), { maxLength: 2 }),
      ),
    }),
  }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(tree, { minLength: 2, maxLength: 4 }),
      fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
      async (jobs, innerConcurrency) => {
        /** The paths of the running calls, with the keys that they write. */
        const atWork = new Map<string, readonly string[]>()
        const problems: string[] = []
        const worksFor = (one: string, other: string) => one.startsWith(`${other}/`) || other.startsWith(`${one}/`)
        const work = tool<Job, unknown>({
          name: 'work',
          description: 'Works.',
          input: job,
          reads: ({ reads = [] }) => reads,
          writes: ({ writes = [] }) => writes,
          async execute({ ms = 0, makes = [], writes = [], path = '' }, { run }) {
            if (!run) throw new Error('there is no run')
            for (const [other, written] of atWork) {
              if (worksFor(path, other)) continue
              const both = writes.filter((key) => written.includes(key))
              if (both.length > 0) problems.push(`${path} and ${other} write ${both.join()}`)
            }
            atWork.set(path, writes)
            try {
              const named = makes.map(({ job }, index) => ({ ...job, path: `${path}/${index}` }))
              await Promise.all(
                named.map((input) => run.callTool({ type: 'tool-call', id: input.path, name: 'work', input })),
              )
              await sleep(ms)
            } finally {
              atWork.delete(path)
            }
          },
        })
        const calls = jobs.map((job, index) => call('work', { ...job, path: `${index}` }, { id: `${index}` }))
        const model = scriptedModel([respond(...calls), respond(say('done'))])
        let isOver = false
        const running = createAgent({ model, tools: [work as Tool], innerConcurrency })
          .run('Go')
          .finally(() => {
            isOver = true
          })
        await vi.runAllTimersAsync()
        expect(isOver).toBe(true)
        expect(problems).toEqual([])
        expect((await running).status).toBe('completed')
      },
    ),
    propertyRuns({ small: 10, middle: 15, whole: 10_000 }),
  )
})

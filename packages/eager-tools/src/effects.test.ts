import { call, collect, end, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Effect, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bare, outline } from '../test/outline.ts'
import { tellingModel } from '../test/telling-model.ts'
import { after, input, workshop } from '../test/workshop.ts'
import { type EagerToolsOptions, eagerTools, type Policy } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const done = respond(say('Done.'))

/** The calls and their times in a run of this response and a last answer. */
async function made(
  response: ScriptResponse,
  {
    tools = [],
    maxSteps,
    ...options
  }: EagerToolsOptions & { readonly tools?: readonly Tool[]; readonly maxSteps?: number } = {},
  middleware: readonly Middleware[] = [eagerTools(options)],
) {
  const { log, tools: standard } = workshop()
  const agent = createAgent({
    model: scriptedModel([response, done]),
    tools: [...standard, ...tools],
    middleware,
    ...(maxSteps !== undefined && { maxSteps }),
  })
  const { events, result, error } = await played(collect(agent.stream('Go')))
  return { log, events, result, error }
}

/** The call is complete 100 ms after the request; the stream ends 100 ms later. */
const lone = (name: string, argument: unknown = { n: 1 }) =>
  respond(wait(100), call(name, argument, { id: 'c1', deltas: 1 }), wait(100), say('So.'))

/** The arguments close at 100 ms, the call is sealed at 200, and the stream ends at 300. */
const closedThenSealed = (name: string) =>
  tellingModel([
    [
      [100, (to) => to.call(0, { id: 'c1', name, delta: '{"n":1}' })],
      [200, (to) => to.seal(0)],
      [300, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])

test('without eagerTools no tool starts before its model call has succeeded (H1)', async () => {
  for (const name of ['look', 'put', 'move', 'send']) {
    expect((await made(lone(name), {}, [])).log).toEqual([`200 ${name} 1`])
  }
})

test('runs without calls, and runs with only external tools, have exactly the same events as without eagerTools (H1)', async () => {
  const scripts = [
    respond(say('Nothing to be done.')),
    respond(say('I shall.'), call('send', { n: 1, ms: 50 }, { id: 'c1' }), call('send', { n: 2 }, { id: 'c2' })),
    respond(call('send', '{"n":', { id: 'c1' }), call('nobody', {}, { id: 'c2' })),
    respond(call('send', { n: 1 }, { id: 'c1' }), end({ finishReason: 'length' })),
  ]
  for (const script of scripts) {
    const eager = await made(script)
    const waiting = await made(script, {}, [])
    expect(bare(eager.events)).toEqual(bare(waiting.events))
    expect(eager.log).toEqual(waiting.log)
  }
})

test('a read starts when closed, idempotent and reversible calls when sealed, an external one when its model call has succeeded (H2)', async () => {
  const starts: string[] = []
  for (const name of ['look', 'put', 'move', 'send']) {
    const { log, tools } = workshop()
    await played(createAgent({ model: closedThenSealed(name), tools, middleware: [eagerTools()] }).run('Go'))
    starts.push(...log)
  }
  expect(starts).toEqual(['100 look 1', '200 put 1', '200 move 1', '300 send 1'])
})

test('a tool that declares no effect is external (H2)', async () => {
  const { make, log } = workshop()
  const tools = [make('plain', undefined), make('declared', 'external')]
  const model = scriptedModel([
    respond(call('plain', { n: 1 }, { deltas: 1 }), call('declared', { n: 2 }, { deltas: 1 }), wait(100), say('So.')),
    done,
  ])
  await played(createAgent({ model, tools, middleware: [eagerTools()] }).run('Go'))
  expect(log).toEqual(['100 plain 1', '100 declared 2'])
})

test('the policy may start an external tool, which then starts when sealed and never when closed (H3)', async () => {
  const { log, tools } = workshop()
  const asked: string[] = []
  const policy: Policy = (call, { tool, effect, evidence }) => {
    asked.push(`${tool.name} ${effect} ${evidence} ${JSON.stringify(call.input)}`)
    return 'start'
  }
  await played(createAgent({ model: closedThenSealed('send'), tools, middleware: [eagerTools({ policy })] }).run('Go'))
  expect(log).toEqual(['200 send 1'])
  expect(asked).toEqual(['send external closed {"n":1}', 'send external sealed {"n":1}'])
})

test('a call that the policy starts does not start earlier than its effect allows (H3)', async () => {
  const { log, tools } = workshop()
  const eager = eagerTools({ policy: () => 'start' })
  await played(createAgent({ model: closedThenSealed('put'), tools, middleware: [eager] }).run('Go'))
  expect(log).toEqual(['200 put 1'])
})

test('the policy may forbid a tool, closed starts for a model, or everything for a run (H3)', async () => {
  const lookTwice = respond(
    call('look', { n: 1 }, { deltas: 1 }),
    call('put', { n: 2 }, { deltas: 1 }),
    wait(50),
    say('.'),
  )
  expect((await made(lookTwice)).log).toEqual(['0 look 1', '0 put 2'])
  expect((await made(lookTwice, { policy: (_, { tool }) => (tool.name === 'look' ? 'wait' : undefined) })).log).toEqual(
    ['0 put 2', '50 look 1'],
  )
  const runs = new Set<string>()
  const noRun: Policy = (_, { run }) => {
    runs.add(run.id)
    return 'wait'
  }
  const forbidden = await made(lookTwice, { policy: noRun })
  expect(forbidden.log).toEqual(['50 look 1', '50 put 2'])
  expect([...runs]).toEqual([forbidden.events[0]?.runId])

  const { log, tools } = workshop()
  const policy: Policy = (_, { evidence, model }) =>
    model.provider === 'telling' && evidence === 'closed' ? 'wait' : undefined
  await played(createAgent({ model: closedThenSealed('look'), tools, middleware: [eagerTools({ policy })] }).run('Go'))
  expect(log).toEqual(['200 look 1'])
})

/** A tool whose effect depends on its input: 1 reads, anything else is external. */
const mixed = (effect: (input: { n: number }) => Effect) => {
  const log: string[] = []
  const begin = performance.now()
  const made = tool({
    name: 'mixed',
    description: 'Reads or writes.',
    input: input.extend({ ms: z.number().default(0) }),
    effect,
    execute: ({ n }) => {
      log.push(`${Math.round(performance.now() - begin)} mixed ${n}`)
      return 'ok'
    },
  })
  return { log, tool: made as Tool }
}

test('an effect function receives the input as the schema returned it (H4)', async () => {
  const seen: unknown[] = []
  const { log, tool } = mixed((input) => {
    seen.push(input)
    return input.n === 1 ? 'read' : 'external'
  })
  const response = respond(
    call('mixed', { n: 1 }, { deltas: 1 }),
    call('mixed', { n: 2 }, { deltas: 1 }),
    call('mixed', { n: 1, ms: 3 }, { deltas: 1 }),
    wait(100),
    say('So.'),
  )
  await made(response, { tools: [tool] })
  // The third call is after the second, which may write.
  expect(log).toEqual(['0 mixed 1', '100 mixed 2', '100 mixed 1'])
  expect(seen[0]).toEqual({ n: 1, ms: 0 })
})

test('while the effect of a changed call is unknown, later calls wait for it (H4, H14)', async () => {
  const { log, tools } = workshop()
  const slow = tool({
    name: 'slow',
    description: 'Checks 2 for long, which writes.',
    input: input.refine(({ n }) => (n === 2 ? after(100).then(() => true) : true)),
    effect: ({ n }) => (n === 1 ? 'read' : 'idempotent'),
    execute: ({ n }) => void log.push(`slow ${n}`),
  }) as Tool
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'c1', name: 'slow', delta: '{"n":1}' })],
      [100, (to) => to.seal(0, '{"n":2}')],
      [150, (to) => to.call(1, { id: 'c2', name: 'look', delta: '{"n":3}' })],
      [500, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  await played(createAgent({ model, tools: [...tools, slow], middleware: [eagerTools()] }).run('Go'))
  expect(log).toEqual(['slow 1', 'slow 2', '500 look 3'])
})

test('an effect function that throws counts as external, with one warning, and affects neither call nor run (H4)', async () => {
  const { log, tool } = mixed(() => {
    throw new Error('cannot tell')
  })
  const response = respond(
    call('mixed', { n: 1 }, { deltas: 1 }),
    call('look', { n: 2 }, { deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { result, log: others } = await made(response, { tools: [tool] })
  expect(log).toEqual(['100 mixed 1'])
  expect(others).toEqual(['100 look 2'])
  expect(result?.text).toBe('Done.')
  expect(result?.warnings).toEqual([{ code: 'effect-failed', message: 'what mixed does: cannot tell', source: 'core' }])
})

test('a policy that throws counts as external, with a warning, and affects neither call nor run (H4)', async () => {
  const { log, tools } = workshop()
  const policy: Policy = () => {
    throw new Error('no idea')
  }
  const agent = createAgent({
    model: closedThenSealed('look'),
    tools,
    middleware: [eagerTools({ policy })],
  })
  const result = await played(agent.run('Go'))
  expect(log).toEqual(['300 look 1'])
  expect(result.text).toBe('Done.')
  const warning = { code: 'policy-failed', message: 'the policy threw for look: no idea', source: 'eager-tools' }
  // Called when closed, and again when sealed.
  expect(result.warnings).toEqual([warning, warning])
})

test('an invalid return value of the policy starts nothing early and is a warning (H4)', async () => {
  const words: readonly (readonly [() => unknown, string])[] = [
    [() => 'no', `'no'`],
    [() => Promise.resolve('wait'), 'a value of type object'],
    [() => Object.create(null), 'a value of type object'],
    [() => Promise.reject(new Error('late')), 'a value of type object'],
  ]
  // Falsy values count as undefined, as in `condition && 'wait'`.
  const nothing = workshop()
  const unsaid = eagerTools({ policy: (() => false) as never })
  const agent = createAgent({ model: closedThenSealed('look'), tools: nothing.tools, middleware: [unsaid] })
  expect((await played(agent.run('Go'))).warnings).toEqual([])
  expect(nothing.log).toEqual(['100 look 1'])
  for (const [word, given] of words) {
    const { log, tools } = workshop()
    const policy = word as Policy
    const model = closedThenSealed('look')
    const result = await played(createAgent({ model, tools, middleware: [eagerTools({ policy })] }).run('Go'))
    expect(log).toEqual(['300 look 1'])
    const message = `the policy returned ${given} for look, not 'start', 'wait' or undefined`
    const warning = { code: 'policy-failed', message, source: 'eager-tools' }
    expect(result.warnings).toEqual([warning, warning])
  }
})

test('unknown tools and input that fails its schema do not start early, and end as without eager tools (H5)', async () => {
  const script = respond(
    call('nobody', { n: 1 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 'one' }, { id: 'c2', deltas: 1 }),
    call('look', '{"n": 1', { id: 'c3', deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const eager = await made(script)
  const waiting = await made(script, {}, [])
  expect(eager.log).toEqual([])
  expect(bare(eager.events)).toEqual(bare(waiting.events))
  expect(eager.result?.messages.filter((message) => message.role === 'tool').map(({ isError }) => isError)).toEqual([
    true,
    true,
    true,
  ])
})

test('calls of the last permitted step do not start early (H5)', async () => {
  const { log, error } = await made(lone('look'), { maxSteps: 1 })
  expect(log).toEqual([])
  expect(error).toMatchObject({ name: 'MaxStepsError' })
})

test('a call that the provider runs itself is never started, even if a tool has its name (H5)', async () => {
  const { log, tools } = workshop()
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'c1', name: 'look', providerResult: 'found' })],
      [0, (to) => to.call(0, { delta: '{"n":1}' })],
      [0, (to) => to.seal(0)],
      [100, (to) => to.text('Found.')],
      [100, (to) => to.finish('stop')],
    ],
  ])
  const { events, result } = await played(
    collect(createAgent({ model, tools, middleware: [eagerTools()] }).stream('Go')),
  )
  expect(log).toEqual([])
  expect(result?.text).toBe('Found.')
  expect(outline(events).filter((line) => line.startsWith('tool-'))).toEqual([
    'tool-input-start c1',
    'tool-input-delta c1',
    'tool-input-closed c1',
    'tool-call c1',
  ])
})

test('{} starts nothing before the seal, and a tool never runs with a placeholder (H7)', async () => {
  const { log, tools } = workshop()
  const empty = tool({
    name: 'all',
    description: 'Takes nothing.',
    input: z.object({}),
    effect: 'read',
    execute: () => void log.push('all'),
  })
  const model = tellingModel([
    [
      [100, (to) => to.call(0, { id: 'c1', name: 'all', delta: '{}' })],
      [100, (to) => to.call(1, { id: 'c2', name: 'look', delta: '{}' })],
      [200, () => expect(log).toEqual([])],
      [200, (to) => to.seal(1, '{"n":7}')],
      [201, () => expect(log).toEqual(['200 look 7'])],
      [300, (to) => to.seal(0)],
      [301, () => expect(log).toEqual(['200 look 7', 'all'])],
      [400, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  const agent = createAgent({ model, tools: [...tools, empty as Tool], middleware: [eagerTools()] })
  expect((await played(agent.run('Go'))).text).toBe('Done.')
  expect(log).toEqual(['200 look 7', 'all'])
})

test('no tool runs with partial arguments, or with text that must be repaired (H7)', async () => {
  const script = respond(
    call('look', '{"n":1,"ms":5', { deltas: ['{"n":1', ',"ms":5'] }),
    call('look', '{"n":1}}', { deltas: ['{"n":1', '}', '}'] }),
    wait(100),
    say('So.'),
  )
  const { log, result } = await made(script)
  // The call that closed and then continued was a wasted read.
  expect(log).toEqual(['0 look 1', '0 look 1 aborted'])
  expect(result?.messages.flatMap((message) => (message.role === 'tool' ? [message.isError] : []))).toEqual([
    true,
    true,
  ])
})

test('a call whose name comes last starts only when the name is known (H7)', async () => {
  const { log, tools } = workshop()
  const model = tellingModel([
    [
      [100, (to) => to.call(0, { id: 'c1', delta: '{"n":1}' })],
      [200, (to) => to.call(0, { name: 'look' })],
      [300, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  await played(createAgent({ model, tools, middleware: [eagerTools()] }).run('Go'))
  expect(log).toEqual(['200 look 1'])
})

test('a call that is not a read keeps later calls of its step from starting early (H14)', async () => {
  for (const [writer, at] of [
    ['put', 0],
    ['move', 0],
    ['send', 100],
  ] as const) {
    const script = respond(
      call('look', { n: 1 }, { deltas: 1 }),
      call(writer, { n: 2 }, { deltas: 1 }),
      call('look', { n: 3 }, { deltas: 1 }),
      call('put', { n: 4 }, { deltas: 1 }),
      wait(100),
      say('So.'),
    )
    const { log } = await made(script)
    const late = [`100 look 3`, `100 put 4`]
    expect(log).toEqual(['0 look 1', `${at} ${writer} 2`, ...late])
  }
})

test('tools that the user declares independent are not a barrier (H14)', async () => {
  const script = respond(
    call('send', { n: 1 }, { deltas: 1 }),
    call('look', { n: 2 }, { deltas: 1 }),
    call('put', { n: 3 }, { deltas: 1 }),
    call('look', { n: 4 }, { deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { log } = await made(script, { independent: ['send'] })
  expect(log).toEqual(['0 look 2', '0 put 3', '100 send 1', '100 look 4'])
})

import {
  call,
  collect,
  cut,
  respond,
  type ScriptedResponse,
  say,
  scriptedModel,
  think,
} from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  type AgentResult,
  agentTool,
  type Checkpoint,
  createAgent,
  type Effect,
  type Middleware,
  memoryStore,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { GuardError, type GuardOptions, type GuardVerdict, guard, retryModel } from '@meanwhile/middleware'
import { played, sleep } from '@meanwhile/tests/clock'
import { sized, spaced } from '@meanwhile/tests/size'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const PASS: GuardVerdict = { pass: true }
const FAIL: GuardVerdict = { pass: false, reason: 'bad' }

const input = z.object({ n: z.number().optional() })

/** What happened while the check had no verdict, or after it had failed. */
class Journal {
  verdict: 'open' | 'passed' | 'failed' = 'open'
  readonly executed: { readonly name: string; readonly effect: Effect; readonly verdict: string }[] = []

  tool(name: string, effect: Effect, rest: { readonly background?: true } = {}): Tool {
    return tool({
      name,
      description: name,
      effect,
      input,
      execute: async (_, { signal }) => {
        this.executed.push({ name, effect, verdict: this.verdict })
        await sleep(30, signal)
        return name
      },
      ...(effect === 'reversible' && { compensate: () => undefined }),
      ...rest,
    }) as Tool
  }

  check(ms: number, verdict: GuardVerdict): NonNullable<GuardOptions['input']> {
    return async (_, { signal }) => {
      await sleep(ms, signal)
      this.verdict = verdict.pass ? 'passed' : 'failed'
      return verdict
    }
  }

  get names(): string[] {
    return this.executed.map(({ name }) => name).sort()
  }

  /** Executions above `read` that the guard should have stopped. */
  get stolen(): string[] {
    return this.executed.filter((one) => one.effect !== 'read' && one.verdict !== 'passed').map(({ name }) => name)
  }

  get reads(): number {
    return this.executed.filter(({ effect }) => effect === 'read').length
  }
}

const CALLS = [
  say('I will do all of it now, one after the other.'),
  call('look', { n: 1 }),
  call('put', { n: 2 }),
  call('book', { n: 3 }),
  call('helper', { request: 'go' }),
  call('send', { n: 4 }),
  call('job', { n: 5 }),
  think('And so on.'),
  say(' That is what I have begun with.'),
]

function tools(journal: Journal): Tool[] {
  const inner = createAgent({
    name: 'helper',
    description: 'helps',
    model: scriptedModel(
      [respond(say('inner'), call('inner_read'), call('inner_put'), call('inner_send')), respond(say('helped'))],
      { pace: PACE },
    ),
    tools: [
      journal.tool('inner_read', 'read'),
      journal.tool('inner_put', 'idempotent'),
      journal.tool('inner_send', 'external'),
    ],
    middleware: [eagerTools()],
  })
  return [
    journal.tool('look', 'read'),
    journal.tool('put', 'idempotent'),
    journal.tool('book', 'reversible'),
    journal.tool('send', 'external'),
    journal.tool('job', 'external', { background: true }),
    agentTool(inner, { effect: 'calls' }) as Tool,
  ]
}

const PACE = { firstToken: 5, betweenTokens: 5 }

interface Shape {
  readonly options?: Partial<GuardOptions>
  readonly inside?: readonly Middleware[]
  readonly first?: readonly ScriptedResponse[]
}

interface Tried {
  readonly journal: Journal
  readonly result?: AgentResult
  readonly error?: unknown
  /** How many pieces of text and reasoning the reader got before the verdict, or after it was no. */
  readonly shown: number
}

/** Runs an agent with six tools, whose check has this verdict after this many milliseconds. */
async function tried({ options, inside = [eagerTools()], first = [] }: Shape, ms: number, verdict: GuardVerdict) {
  const journal = new Journal()
  const script = [
    ...first,
    respond(...CALLS),
    respond(say('All done.')),
    respond(say('The job, too.')),
    respond(say('Bye.')),
  ]
  const agent = createAgent({
    model: scriptedModel(script, { pace: { firstToken: 20, betweenTokens: 15 } }),
    tools: tools(journal),
    grace: 50,
    middleware: [guard({ input: journal.check(ms, verdict), ...options }), ...inside],
  })
  const run = agent.stream('please')
  let shown = 0
  const seen = async (): Promise<Tried> => {
    try {
      for await (const event of run) if (isShown(event) && journal.verdict !== 'passed') shown++
      return { journal, result: await run.result, shown }
    } catch (error) {
      return { journal, error, shown }
    }
  }
  return await played(seen())
}

function isShown({ type, path }: AgentEvent): boolean {
  return !path && (type === 'text-delta' || type === 'reasoning-delta')
}

/** The moments of the verdict. The first response lasts for 200 ms, with the agent inside 300. */
const COUNT = sized({ small: 10, middle: 15, whole: 200 })
const MOMENTS = Array.from({ length: COUNT }, (_, n) => Math.round((n * 400) / COUNT))

const SHAPES: Readonly<Record<string, Shape & { readonly reads: boolean; readonly shows: boolean }>> = {
  eager: { reads: true, shows: true },
  'eager, held': { options: { hold: true }, reads: true, shows: false },
  'not eager': { options: { hold: true }, inside: [], reads: false, shows: false },
  'with a broken stream': {
    options: { hold: true },
    inside: [retryModel({ baseDelay: 10, random: () => 0 }), eagerTools()],
    first: [respond(say('I will'), call('put', { n: 2 }), cut())],
    reads: true,
    shows: false,
  },
  'nothing may begin': { options: { meanwhile: 'none' }, reads: false, shows: true },
}

describe.each(Object.entries(SHAPES))('%s', (_, shape) => {
  test('a check that fails at any moment lets nothing above read run, and ends the run (GD3, GD4, GD5, GD6, GD11)', async () => {
    let reads = 0
    let shown = 0
    for (const ms of MOMENTS) {
      const one = await tried(shape, ms, FAIL)
      expect([ms, one.error]).toEqual([ms, new GuardError('guard', 'input', 'bad')])
      expect([ms, ...one.journal.stolen]).toEqual([ms])
      reads += one.journal.reads
      shown += one.shown
    }
    expect([reads > 0, shown > 0]).toEqual([shape.reads, shape.shows])
  })

  test('a check that passes at any moment changes nothing: every tool runs once (GD3, GD4, GD5)', async () => {
    for (const ms of MOMENTS.filter((_, place) => place % 4 === 0)) {
      const { journal, result, error } = await tried(shape, ms, PASS)
      expect([ms, error, result?.status]).toEqual([ms, undefined, 'completed'])
      expect(journal.names).toEqual(['book', 'inner_put', 'inner_read', 'inner_send', 'job', 'look', 'put', 'send'])
    }
  })
})

test('control: without a guard the same tools run before the verdict', async () => {
  const names = new Set<string>()
  for (const ms of MOMENTS) {
    const { journal } = await tried({ options: { input: () => PASS } }, ms, FAIL)
    for (const name of journal.stolen) names.add(name)
  }
  expect(names.has('put')).toBe(true)
})

/** An agent whose check has this verdict. The tools write to the journal. */
function cutAgent(journal: Journal, ms: number, verdict: GuardVerdict, options: Partial<GuardOptions> = {}) {
  return createAgent({
    model: scriptedModel(
      [
        respond(
          say('a b'),
          call('look', { n: 1 }),
          call('put', { n: 2 }),
          call('send', { n: 3 }),
          call('job', { n: 4 }),
        ),
        ...Array.from({ length: 4 }, () => respond(say('done'))),
      ],
      { pace: { firstToken: 3, betweenTokens: 2 } },
    ),
    tools: [
      journal.tool('look', 'read'),
      journal.tool('put', 'idempotent'),
      journal.tool('send', 'external'),
      journal.tool('job', 'external', { background: true }),
    ],
    middleware: [guard({ input: journal.check(ms, verdict), ...options }), eagerTools()],
  })
}

const PASSED = 'guard/guard'

/** Milliseconds between two moments of a cancel. */
const BETWEEN = sized({ small: 5, middle: 4, whole: 1 })

describe.each(['now', 'after-model'] as const)('cancel at %s', (at) => {
  test('a run that stops while a check is open checks again when it is resumed, and does not after the check has passed (GD8)', async () => {
    const ends = { failed: 0, completed: 0 }
    for (let ms = 1; ms <= 75; ms += BETWEEN) {
      const first = new Journal()
      const run = cutAgent(first, 40, PASS).stream('x')
      setTimeout(() => void run.cancel({ at }), ms)
      const result = await played(run.result)
      expect(first.stolen).toEqual([])
      if (result.status !== 'cancelled') continue
      const checkpoint = JSON.parse(JSON.stringify(result.checkpoint)) as typeof result.checkpoint
      const known = checkpoint.values[PASSED] as { passed?: readonly string[] } | undefined
      const hasPassed = known?.passed?.length === 1
      const journal = new Journal()
      const again = await played(settled(cutAgent(journal, 20, FAIL).resume(checkpoint).result))
      if (hasPassed) expect([ms, again]).toEqual([ms, 'completed'])
      else expect([ms, again, journal.names.filter((name) => name !== 'look')]).toEqual([ms, 'GuardError', []])
      ends[hasPassed ? 'completed' : 'failed']++
    }
    // At `after-model` the cancel waits for the verdict.
    expect([ends.failed > 5, ends.completed > 5]).toEqual([at === 'now', true])
  })
})

async function settled(result: Promise<AgentResult>): Promise<string> {
  return await result.then(
    ({ status }) => status,
    (error: unknown) => (error instanceof Error ? error.name : String(error)),
  )
}

test('no checkpoint that is stored while a check is open, or after it has failed, leads past the guard (GD8, SE2)', async () => {
  const kept: Checkpoint[] = []
  const store = memoryStore()
  const keeping = {
    ...store,
    save: async (...given: Parameters<typeof store.save>) => {
      await store.save(...given)
      kept.push(given[1] as Checkpoint)
    },
  }
  const journal = new Journal()
  const { error } = await played(collect(cutAgent(journal, 40, FAIL).stream('x', { id: 'run', checkpoints: keeping })))
  expect(kept.length).toBeGreaterThan(1)
  expect(kept.map(isKnown)).toContain(false)
  expect(isKnown(kept.at(-1))).toBe(true)
  for (const checkpoint of kept) {
    const later = new Journal()
    // What was stored before the verdict is checked again, and fails again. After that, no check is asked any more.
    const verdict = isKnown(checkpoint) ? PASS : FAIL
    const again = await played(collect(cutAgent(later, 5, verdict).resume(checkpoint)))
    expect(again.error).toMatchObject({
      name: 'GuardError',
      message: (error as Error).message,
      guard: 'guard',
      place: 'input',
      reason: 'bad',
    })
    expect(later.stolen).toEqual([])
    expect(later.verdict).toBe(isKnown(checkpoint) ? 'open' : 'failed')
  }
})

function isKnown(checkpoint: Checkpoint | undefined): boolean {
  const known = checkpoint?.values[PASSED] as { readonly failed?: string | null } | undefined
  return typeof known?.failed === 'string'
}

const WORDS = 'The quick brown fox jumps over the lazy dog and goes on and on until the very end of the story'.split(
  ' ',
)

test('a forbidden word at any place ends the run: nothing of its block is shown, and no call of its response counts (GD13)', async () => {
  for (const at of [...spaced([...WORDS.keys()], { small: 5, middle: 4, whole: 1 }, 0), WORDS.length])
    for (const callsFirst of [true, false]) {
      const text = WORDS.toSpliced(at, 0, ...(at < WORDS.length ? ['SECRET'] : [])).join(' ')
      const journal = new Journal()
      const calls = [call('look', { n: 1 }), call('put', { n: 2 }), call('send', { n: 3 })]
      const agent = createAgent({
        model: scriptedModel(
          [respond(...(callsFirst ? [...calls, say(text)] : [say(text), ...calls])), respond(say('fine'))],
          {
            pace: { firstToken: 1, betweenTokens: 1 },
          },
        ),
        tools: [journal.tool('look', 'read'), journal.tool('put', 'idempotent'), journal.tool('send', 'external')],
        middleware: [
          guard({
            block: 20,
            output: async (said, { signal }) => {
              await sleep(2, signal)
              return { pass: !said.includes('SECRET') }
            },
          }),
          eagerTools(),
        ],
      })
      const { events, result, error } = await played(collect(agent.stream('x')))
      const shown = events.map((event) => (event.type === 'text-delta' ? event.delta : '')).join('')
      expect(shown).not.toContain('SECRET')
      if (at < WORDS.length) {
        expect(error).toMatchObject({ name: 'GuardError', place: 'output' })
        expect(journal.names.filter((name) => name !== 'look')).toEqual([])
      } else {
        expect([result?.status, shown, journal.names]).toEqual(['completed', `${text}fine`, ['look', 'put', 'send']])
      }
    }
})

test('an agent in a call of a hook waits for the verdict, because no commit holds what it does (GD4, GD5)', async () => {
  for (const verdict of [PASS, FAIL]) {
    const journal = new Journal()
    const hook: Middleware = {
      name: 'caller',
      async beforeModel(_, run) {
        await run.callTool({ type: 'tool-call', id: 'hooked', name: 'helper', input: { request: 'go' } })
      },
    }
    const agent = createAgent({
      model: scriptedModel([respond(say('Hello.'))]),
      tools: tools(journal),
      middleware: [guard({ input: journal.check(100, verdict) }), hook, eagerTools()],
    })
    await played(settled(agent.run('x')))
    expect(journal.stolen).toEqual([])
    expect(journal.names).toEqual(verdict.pass ? ['inner_put', 'inner_read', 'inner_send'] : [])
  }
})

test('a guard does not read the messages of an agent inside a call, and a guard of that agent does (GD12)', async () => {
  const read: string[] = []
  const noting = (name: string) =>
    guard({
      name,
      input: (messages) => {
        read.push(...messages.map((message) => `${name}: ${textOf(message)}`))
        return PASS
      },
    })
  const inner = createAgent({
    name: 'helper',
    description: 'helps',
    model: scriptedModel([respond(say('helped'))]),
    middleware: [noting('inner')],
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('helper', { request: 'go' })), respond(say('Done.'))]),
    tools: [agentTool(inner) as Tool],
    middleware: [noting('outer')],
  })
  await played(agent.run('x'))
  expect(read).toEqual(['outer: x', 'inner: go'])
})
